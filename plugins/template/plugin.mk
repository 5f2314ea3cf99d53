# Needs a C compiler, make and the tachograph package (tacho-plugin.pc).
CFLAGS ?= -O2 -g -Wall -Wextra
PLUGIN_CFLAGS := $(shell pkg-config --cflags tacho-plugin)
PLUGIN_DIR := $(shell pkg-config --variable=plugindir tacho-plugin)

template.so: template.c
	$(CC) -std=gnu11 -fPIC -shared -fvisibility=hidden $(PLUGIN_CFLAGS) $(CFLAGS) -Wl,-z,defs -o $@ $< $(LDFLAGS)

check: template.so
	tacho plugin check ./template.so

install: template.so
	install -d $(DESTDIR)$(PLUGIN_DIR)
	install -m 644 template.so $(DESTDIR)$(PLUGIN_DIR)

clean:
	rm -f template.so

.PHONY: check install clean
