# Turns the files of this folder into a C table for `tacho plugin new`, so that what it writes is what
# is built and tested here. Run with the files as arguments; -v top= the folder that they lie in.
BEGIN {
    print "/* Made by embed.awk from plugins/template; not to be edited. */"
    print "static const struct template_file {"
    print "    const char *role, *name, *text;"
    print "} template_files[] = {"
}

FNR == 1 {
    if (NR > 1) {
        print "    },"
    }
    path = substr(FILENAME, length(top) + 2)
    count = split(path, part, "/")
    role = count > 1 ? part[1] : "provider"
    name = part[count]
    if (name ~ /\.mk$/) {
        role = ""
        name = "Makefile"
    }
    printf "    {\"%s\", \"%s\",\n", role, name
}

{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\\&")
    gsub(/\t/, "\\t")
    printf "     \"%s\\n\"\n", $0
}

END {
    print "    },"
    print "};"
}
