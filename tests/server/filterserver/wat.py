"""Small filters, as text."""

TAKES_ALL = "(i32.const 1)"
FIRST_IS_A = "(i32.eq (i32.load8_u (local.get 2)) (i32.const 97))"
LOOP = "(loop $again (br $again)) (i32.const 0)"
TRAP = "unreachable"
# Asks for one page after the other, and drops the message when it got 64 MiB.
BOMB = """(block $refused
    (loop $again
      (br_if $refused (i32.eq (memory.grow (i32.const 16)) (i32.const -1)))
      (br_if $again (i32.lt_u (memory.size) (i32.const 1024)))))
  (i32.lt_u (memory.size) (i32.const 1024))"""
# Locals that live through many loops: the compiler takes minutes and more than a gigabyte.
COSTLY = "(func (local {}) {})".format("i32 " * 2_000, "(loop (br_if 0 (local.get 0)))" * 10_000)
RECURSION = "(call $matches (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"


def module(matches: str, *, allocate: str = "(i32.const 1024)", more: str = "") -> bytes:
    """Return a filter whose function ``matches`` ends with the value of an expression."""
    return f"""(module (memory (export "memory") 1) {more}
  (func (export "allocate") (param i32) (result i32) {allocate})
  (func $matches (export "matches") (param i32 i32 i32 i32) (result i32) {matches}))""".encode()
