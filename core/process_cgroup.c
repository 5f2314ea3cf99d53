/* SPDX-License-Identifier: MIT */
/*
 * What a process's cgroup path says of who runs it. Engines and batch systems name their groups by
 * habit, not by contract; the habits known here:
 *
 *     docker      /docker/ID, docker-ID.scope
 *     podman      libpod-ID.scope, libpod-conmon-ID.scope is its monitor and not a container
 *     containerd  cri-containerd-ID.scope, POD.slice:cri-containerd:ID, plain ID below a pod
 *     CRI-O       crio-ID.scope, crio-conmon-ID.scope is its monitor
 *     Kubernetes  podUID below kubepods, with '_' for '-' under systemd
 *     Slurm       job_NUMBER below slurm or slurmstepd.scope
 *     systemd     the innermost NAME.service or NAME.scope
 */
#include "core/process.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { ID = 64 }; /* hexadecimal digits of a container's name */

struct prefix {
    const char *text;
    const char *runtime;
};

static const struct prefix prefixes[] = {
    {"docker-", "docker"},
    {"libpod-", "podman"},
    {"cri-containerd-", "containerd"},
    {"crio-", "cri-o"},
};

static bool is_id(const char *text, size_t length)
{
    if (length != ID) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!isxdigit((unsigned char)text[i])) {
            return false;
        }
    }
    return true;
}

static bool begins(const char *text, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *text, size_t length, const char *suffix)
{
    size_t tail = strlen(suffix);
    return length > tail && strncmp(text + length - tail, suffix, tail) == 0;
}

static void set(char *out, size_t size, const char *text, size_t length)
{
    snprintf(out, size, "%.*s", (int)length, text);
}

static void set_container(struct tacho_process *out, const char *id, const char *runtime)
{
    set(out->container, sizeof out->container, id, ID);
    snprintf(out->runtime, sizeof out->runtime, "%s", runtime);
}

/* "docker-ID.scope" and its like. */
static bool read_prefixed(const char *part, size_t length, struct tacho_process *out)
{
    if (ends(part, length, ".scope")) {
        length -= strlen(".scope");
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t skip = strlen(prefixes[i].text);
        if (begins(part, length, prefixes[i].text) && is_id(part + skip, length - skip)) {
            set_container(out, part + skip, prefixes[i].runtime);
            return true;
        }
    }
    return false;
}

/* "pod1234-….slice" or "kubepods-burstable-pod1234_….slice": the UID with '-'. */
static void read_pod(const char *part, size_t length, struct tacho_process *out)
{
    enum { UID = 36 };
    if (ends(part, length, ".slice")) {
        length -= strlen(".slice");
    }
    const char *pod = memmem(part, length, "pod", 3);
    while (pod && (size_t)(part + length - pod) != 3 + UID) {
        pod = memmem(pod + 1, (size_t)(part + length - pod - 1), "pod", 3);
    }
    if (!pod) {
        return;
    }
    set(out->pod, sizeof out->pod, pod + 3, UID);
    for (char *at = out->pod; *at; at++) {
        *at = *at == '_' ? '-' : *at;
    }
}

static void read_job(const char *part, size_t length, struct tacho_process *out)
{
    if (begins(part, length, "job_") && length > 4 && isdigit((unsigned char)part[4])) {
        set(out->job, sizeof out->job, part + 4, length - 4);
    }
}

static void read_part(const char *part, size_t length, const char *before, size_t before_length,
                      struct tacho_process *out)
{
    if (read_prefixed(part, length, out)) {
        return;
    }
    if (is_id(part, length)) {
        bool docker = before_length == strlen("docker") && begins(before, before_length, "docker");
        set_container(out, part, docker ? "docker" : out->pod[0] ? "containerd" : "");
        return;
    }
    read_pod(part, length, out);
    read_job(part, length, out);
    if (ends(part, length, ".service") || ends(part, length, ".scope")) {
        set(out->unit, sizeof out->unit, part, length);
    }
}

static void read_path(const char *path, size_t length, struct tacho_process *out)
{
    const char *end = path + length, *before = path;
    size_t before_length = 0;
    while (path < end) {
        path++; /* what separates: '/', or ':' as containerd writes it */
        size_t part = strcspn(path, "/:\n");
        read_part(path, part, before, before_length, out);
        before = path;
        before_length = part;
        path += part;
    }
}

void process_read_cgroup(const char *text, struct tacho_process *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        /* "number:controllers:path"; a path may hold colons. */
        const char *first = memchr(text, ':', length);
        const char *second =
            first ? memchr(first + 1, ':', length - (size_t)(first + 1 - text)) : NULL;
        if (second) {
            read_path(second + 1, length - (size_t)(second + 1 - text), out);
        }
        text += length;
        text += *text == '\n';
    }
}
