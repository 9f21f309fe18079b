"""The screen of ``top``: draws the view, passes keys on, looks again every few seconds.

    prompt_toolkit's loop (main thread)  -- look -->  the link's loop (requests)
                                         <-- ClusterSnapshot --

Rule: nothing is decided here; what a key does and what is drawn is ``mqadmin.top.view``.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import Output

from mqadmin.errors import Interrupted, describe
from mqadmin.top.sample import ClusterSnapshot, TopRow, rows_between
from mqadmin.top.view import View, draw, press, within

NAMES = {
    Keys.Tab.value: "tab",
    Keys.Enter.value: "enter",
    Keys.Escape.value: "escape",
    Keys.Backspace.value: "backspace",
    Keys.Up.value: "up",
    Keys.Down.value: "down",
}


@dataclass(slots=True)
class Screen:
    """One run of the full-screen view.

    Attributes:
        look: starts a look in the background.
        title: text of the first line; the time of the sample is added.
    """

    look: "Callable[[], Future[ClusterSnapshot]]"
    first: ClusterSnapshot
    title: str
    seconds: float
    view: View = field(default_factory=View)
    rows: list[TopRow] = field(default_factory=list)
    said: str = ""

    def show_until_quit(self, *, source: Input | None = None, output: Output | None = None) -> int:
        """Show it until ``q`` (0) or Ctrl-C (130)."""
        self.rows = rows_between(self.first, self.first)
        app: Application[int] = Application(
            layout=Layout(Window(FormattedTextControl(self._text), wrap_lines=False)),
            key_bindings=self._bindings(),
            full_screen=True,
            input=source,
            output=output,
        )

        def start() -> None:
            app.create_background_task(self._looking(app))

        return app.run(pre_run=start)

    async def _looking(self, app: Application[int]) -> None:
        before = self.first
        while True:
            await asyncio.sleep(self.seconds)
            if self.view.paused:
                continue
            try:
                after = await asyncio.wrap_future(self.look())
            except Exception as error:
                # A broker may be away for a moment: the old rows stay, and it is said why.
                self.said = describe(error).line
            else:
                self.rows, self.said, before = rows_between(before, after), "", after
            app.invalidate()

    def _text(self) -> str:
        size = get_app().output.get_size()
        title = f"{self.title}   {self.said}" if self.said else self.title
        lines = draw(self.view, self.rows, title=title, width=size.columns, height=size.rows)
        return "\n".join(lines)

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("c-c")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=Interrupted.exit_code)

        def pressed(event: KeyPressEvent) -> None:
            key = event.key_sequence[-1]
            name = key.key.value if isinstance(key.key, Keys) else key.key
            pressed_view = press(self.view, NAMES.get(name, key.data))
            height = event.app.output.get_size().rows
            self.view = within(pressed_view, self.rows, height=height)
            if self.view.quit:
                event.app.exit(result=0)

        for key in (Keys.Any, *NAMES):
            bindings.add(key, eager=key == Keys.Escape)(pressed)
        return bindings
