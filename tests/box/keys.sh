# SPDX-License-Identifier: MIT
# Key slots: a password that is typed is not shown, the slot of the configured one stays unless it is said, and a password whose
# slot is gone lists nothing, whatever this node has kept.
. "$TESTS/lib.sh"

store file
node a
on a ag-box init
slots() { on a ag-box key list --json | jq -r '.slots[].label'; }
on a python3 "$TESTS/passwords.py"
[ "$(slots)" = $'init\ntyped' ]
BOX_PASSWORD="my secret" on a ag-box key list

own=$(on a ag-box key list --json | jq -r '.slots[0].id')
expect_exit 2 on a ag-box key remove "$own"
expect_error "is the slot of the password that is configured here"
expect_error "--force"
[ "$(slots)" = $'init\ntyped' ]
on a ag-box key remove "$own" --force
expect_exit 9 on a ag-box key list
expect_exit 9 on a ag-box key export
BOX_PASSWORD="my secret" on a ag-box key list --json | jq -e '.slots | length == 1'
