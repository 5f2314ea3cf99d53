/* SPDX-License-Identifier: MIT */
/*
 * The rich form: one document of `nvidia-smi -q -x`. Elements are known by their path; unknown ones
 * are passed over. Nothing outside the document is ever opened and no entity may be declared. The
 * list of supported clocks, most of the document, never reaches the parser.
 */
#include <expat.h>
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

#define END_TAG "</nvidia_smi_log>"
#define SKIP_BEGIN "<supported_clocks>"
#define SKIP_END "</supported_clocks>"

struct walk {
    XML_Parser parser;
    const struct smi_tree *tree;
    struct smi_reading *reading;
    int16_t node;      /* the element that we are in; -1: outside */
    uint32_t skipping; /* depth below an element that nobody knows */
    bool refused;      /* an entity was declared */
    int32_t rows[SCOPE_PROCESS + 1];
    char text[SMI_TEXT_SIZE];
    size_t text_used;
};

/* ---- finding --------------------------------------------------------------------------------- */

static const char *find_text(const char *data, size_t length, const char *text)
{
    return memmem(data, length, text, strlen(text));
}

bool smi_xml_find(const char *data, size_t length, size_t *out_at, size_t *out_length)
{
    const char *begin = find_text(data, length, "<?xml");
    const char *root = find_text(data, length, "<nvidia_smi_log");
    if (!begin || (root && root < begin)) {
        begin = root;
    }
    const char *end = begin ? find_text(begin, length - (size_t)(begin - data), END_TAG) : NULL;
    if (!end) {
        return false;
    }
    *out_at = (size_t)(begin - data);
    *out_length = (size_t)(end - begin) + strlen(END_TAG);
    return true;
}

/* ---- cleaning -------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence that begins here, or 0 when it is none. */
static size_t sequence(const unsigned char *at, size_t left)
{
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool bad = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
               (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f) ||
               (at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe);
    return bad ? 0 : length;
}

/* The name of a process may hold any byte; one bad name must not cost the whole reading. */
static void clean(char *data, size_t length)
{
    for (size_t i = 0; i < length;) {
        unsigned char byte = (unsigned char)data[i];
        size_t step = 1;
        if (byte >= 0x80) {
            step = sequence((unsigned char *)data + i, length - i);
        } else if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') {
            step = 0;
        }
        if (step == 0) {
            data[i] = '?';
            step = 1;
        }
        i += step;
    }
}

/* ---- walking --------------------------------------------------------------------------------- */

static void begin_row(struct walk *walk, enum smi_scope scope, const char **attributes)
{
    int32_t gpu = scope == SCOPE_GPU ? -1 : walk->rows[SCOPE_GPU];
    int32_t row = smi_reading_add(walk->reading, scope, gpu);
    walk->rows[scope] = row;
    if (row < 0) {
        (void)XML_StopParser(walk->parser, XML_FALSE);
    } else if (scope == SCOPE_GPU && attributes[0] && strcmp(attributes[0], "id") == 0) {
        char id[64];
        (void)snprintf(id, sizeof id, "%s", attributes[1]);
        smi_cell_put(walk->reading, smi_reading_cell(walk->reading, row, C_BUS_ID), SMI_TEXT, 1, 0,
                     id);
    }
}

static void XMLCALL on_start(void *context, const char *name, const char **attributes)
{
    struct walk *walk = context;
    int16_t node = walk->skipping ? -1 : smi_tree_find(walk->tree, walk->node, name);
    if (node < 0) {
        walk->skipping++;
        return;
    }
    walk->node = node;
    walk->text_used = 0;
    if (walk->tree->nodes[node].begins != SCOPE_HEAD) {
        begin_row(walk, walk->tree->nodes[node].begins, attributes);
    }
}

static void XMLCALL on_text(void *context, const char *text, int length)
{
    struct walk *walk = context;
    size_t room = sizeof walk->text - 1 - walk->text_used;
    if (walk->skipping || walk->node < 0 || walk->tree->nodes[walk->node].field < 0) {
        return;
    }
    size_t taken = (size_t)length < room ? (size_t)length : room;
    memcpy(walk->text + walk->text_used, text, taken);
    walk->text_used += taken;
}

static struct smi_cell *cell_of(struct walk *walk, const struct smi_field *field)
{
    if (field->scope == SCOPE_HEAD) {
        return &walk->reading->head[field->cell];
    }
    return smi_reading_cell(walk->reading, walk->rows[field->scope], field->cell);
}

static void XMLCALL on_end(void *context, const char *name)
{
    struct walk *walk = context;
    (void)name;
    if (walk->skipping) {
        walk->skipping--;
        return;
    }
    const struct smi_node *node = &walk->tree->nodes[walk->node];
    if (node->field >= 0 && !walk->reading->no_memory) {
        const struct smi_field *field = &smi_fields[node->field];
        walk->text[walk->text_used] = '\0';
        struct smi_cell *cell = cell_of(walk, field);
        smi_cell_put(walk->reading, cell, field->convert, node->rank, field->bit, walk->text);
        if (field->scope == SCOPE_GPU && cell->type == CELL_ABSENT &&
            cell->reason == TACHO_ABSENT_LOST) {
            walk->reading->rows[walk->rows[SCOPE_GPU]].lost = true;
        }
    }
    walk->text_used = 0;
    walk->node = node->parent;
}

static void XMLCALL on_entity(void *context, const char *name, int is_parameter, const char *value,
                              int length, const char *base, const char *system_id,
                              const char *public_id, const char *notation)
{
    struct walk *walk = context;
    (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system_id,
        (void)public_id, (void)notation;
    walk->refused = true;
    (void)XML_StopParser(walk->parser, XML_FALSE);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* Feeds all but the lists of clocks. */
static enum XML_Status feed(XML_Parser parser, const char *data, size_t length)
{
    const char *end = data + length;
    while (data < end) {
        const char *skip = find_text(data, (size_t)(end - data), SKIP_BEGIN);
        const char *after = skip ? find_text(skip, (size_t)(end - skip), SKIP_END) : NULL;
        const char *stop = after ? skip : end;
        enum XML_Status status = XML_Parse(parser, data, (int)(stop - data), stop == end);
        if (status != XML_STATUS_OK) {
            return status;
        }
        data = after ? after + strlen(SKIP_END) : end;
    }
    return XML_STATUS_OK;
}

static int fail_parse(const struct walk *walk, struct tacho_err *err)
{
    if (walk->reading->no_memory) {
        return tacho_fail(err, TACHO_RETRY, "no memory for what nvidia-smi printed");
    }
    if (walk->refused) {
        return tacho_fail(err, TACHO_RETRY,
                          "nvidia-smi printed a document that declares entities; is it the real "
                          "nvidia-smi?");
    }
    return tacho_fail(err, TACHO_RETRY, "cannot read the XML of nvidia-smi: %s in line %lu",
                      XML_ErrorString(XML_GetErrorCode(walk->parser)),
                      (unsigned long)XML_GetCurrentLineNumber(walk->parser));
}

int smi_xml_parse(const struct smi_tree *tree, char *data, size_t length,
                  struct smi_reading *reading, struct tacho_err *err)
{
    struct walk walk = {.tree = tree, .reading = reading, .node = -1, .rows = {-1, -1, -1, -1}};
    smi_reading_reset(reading);
    walk.parser = XML_ParserCreate("UTF-8");
    if (!walk.parser) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an XML parser");
    }
    clean(data, length);
    XML_SetUserData(walk.parser, &walk);
    XML_SetElementHandler(walk.parser, on_start, on_end);
    XML_SetCharacterDataHandler(walk.parser, on_text);
    XML_SetEntityDeclHandler(walk.parser, on_entity);
    (void)XML_SetParamEntityParsing(walk.parser, XML_PARAM_ENTITY_PARSING_NEVER);
    int result = TACHO_OK;
    if (feed(walk.parser, data, length) != XML_STATUS_OK || reading->no_memory) {
        result = fail_parse(&walk, err);
        smi_reading_reset(reading);
    }
    XML_ParserFree(walk.parser);
    return result;
}
