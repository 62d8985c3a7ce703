# SPDX-License-Identifier: MIT
# The checker of the sources refuses a bad tree of every kind, and passes a good one, ours among them.
# level: quick
# lane: cpu
. "$TESTS/lib.sh"

checker="$TESTS/../contrib/check-source"
head='/* SPDX-License-Identifier: MIT */'

new_tree() {
    rm -rf "$WORK/tree"
    mkdir -p "$WORK/tree"/{index/base,fusefs,sync,sandbox,cli,tests/unit,tests/fault,contrib}
    cd "$WORK/tree"
    cp "$TESTS/../.clang-format" .
    echo '# SPDX-License-Identifier: MIT' | tee {index,fusefs,sync,sandbox,cli}/meson.build >/dev/null
    for folder in index fusefs sync sandbox cli; do
        echo "'a.c' 'base/a.c'" >>$folder/meson.build
    done
    header index/a.h
    header index/base/a.h
    header fusefs/a.h
    header sync/a.h
}

header() {
    printf '%s\n#pragma once\n' "$head" >"$1"
}

source_file() { # PATH LINE...
    local path=$1
    shift
    printf '%s\n' "$head" "$@" >"$path"
}

verdict() { # CODE: of the checker, for the tree as it is
    git -C "$WORK/tree" init -q
    git -C "$WORK/tree" add -A
    expect_exit "$1" "$checker" "$WORK/tree"
}

refused() { # TEXT
    verdict 1
    expect_output "$1"
}

new_tree
source_file index/a.c '#include "index/base/a.h"' '#include <sqlite3.h>'
source_file cli/a.c '#include "sync/a.h"' '#include "fusefs/a.h"' 'int x;'
verdict 0

new_tree
source_file index/a.c "$(yes 'int x;' | head -n 600)"
refused 'index/a.c:601: more than 600 lines'

new_tree
source_file index/a.c "/* $(printf %0118d 0) */"
refused 'index/a.c:2: more than 120 columns'

new_tree
source_file index/a.c 'int f(void)' '{' "$(yes '    f();' | head -n 58)" '    return 0;' '}'
refused 'a function of 62 lines'

new_tree
source_file sync/a.c '#include "fusefs/a.h"'
refused 'sync may not include from fusefs'
source_file sync/a.c ''
source_file fusefs/a.c '#include "sync/a.h"'
refused 'fusefs may not include from sync'

new_tree
source_file index/base/a.c '#include "index/a.h"'
refused 'index/base may not include from index'

new_tree
source_file sandbox/a.c '#include "index/a.h"'
refused 'sandbox may not include from index'

new_tree
source_file index/a.c '#include "sync/a.h"'
refused 'index may not include from sync'

new_tree
source_file index/a.c '#include "a.h"'
refused "not from the repository's root"

new_tree
source_file tests/fault/a.c '#include "sync/a.h"'
refused 'shares no source with the product'

for wrong in index:curl/curl.h fusefs:sqlite3.h cli:expat.h index:zstd.h sync:fuse_lowlevel.h index:cmocka.h; do
    new_tree
    source_file "${wrong%:*}/a.c" "#include <${wrong#*:}>"
    refused "<${wrong#*:}> is not at home in ${wrong%:*}"
done

if command -v clang-format-14 >/dev/null || clang-format --version 2>/dev/null | grep -q ' 14\.'; then
    new_tree
    source_file index/a.c 'int f( void ){return 0;}'
    refused 'not as clang-format 14 has it'
fi

new_tree
echo 'int x;' >index/a.c
refused 'the first line is not the SPDX head'

new_tree
echo "$head" >index/b.h
refused 'no #pragma once'

new_tree
printf '#!/bin/sh\necho\n' >contrib/tool
refused 'no SPDX head in its first two lines'

for word in TO''DO FIX''ME X''XX 'not'' implemented'; do
    new_tree
    source_file index/a.c "/* $word: later */"
    refused "unfinished: $word"
done
new_tree
source_file index/a.c 'char path[] = "/tmp/x.XXXXXX";'
verdict 0

new_tree
mkdir util
header util/a.h
refused 'util:1: the top level is fixed'

for line in 'printf("x");' 'puts("x");' 'fprintf(stdout, "x");' 'fprintf(stderr, "x");' 'perror("x");'; do
    new_tree
    source_file sync/a.c 'static void f(void)' '{' "    $line" '}'
    refused 'only cli prints'
done
new_tree
source_file sync/a.c '/* printf(3) to stdout */' 'static void f(void)' '{' '    snprintf(b, n, "puts(");' '}'
verdict 0

new_tree
source_file cli/a.c 'static void f(struct error *e)' '{' '    *e = why;' '}'
refused 'cli/a.c:4: an error is passed on with error_pass'
new_tree
source_file cli/a.c 'static void f(void)' '{' '    struct error *e = &why;' '}'
verdict 0

new_tree
source_file index/unbuilt.c 'int x;'
refused 'index/unbuilt.c:1: not named in index/meson.build'

new_tree
source_file tests/unit/test-some.c 'int x;'
echo '# SPDX-License-Identifier: MIT' >tests/unit/meson.build
refused 'tests/unit/test-some.c:1: not named'

new_tree
mkdir -p tests/box
printf '# SPDX-License-Identifier: MIT\n. "$TESTS/lib.sh"\n' >tests/box/a.sh
refused 'tests/box/a.sh:2: there is no tests/lib.sh'
touch tests/lib.sh
refused 'no SPDX head'

page() { # PATH HEADING COMMAND
    printf '# %s\n\n<!-- run on a -->\n```sh\n# no heading\n%s\n```\n' "$2" "$3" >"$1"
}
new_tree
page README.md One 'ag-box ls'
refused 'contrib/README.zh-CN.md:1: README.md has no translation'
page contrib/README.zh-CN.md 一 'ag-box ls'
verdict 0
page contrib/README.zh-CN.md 一 'ag-box  ls'
refused 'not the same blocks of code as in README.md (1, 1)'
page contrib/README.zh-CN.md 一 'ag-box ls'
sed -i 's/run on a/run on b/' contrib/README.zh-CN.md
refused 'not the same blocks of code'
page contrib/README.zh-CN.md 一 'ag-box ls'
echo '## 二' >>contrib/README.zh-CN.md
refused 'not the same headings as in README.md (2, 1)'

cd /
expect_exit 0 "$checker"
