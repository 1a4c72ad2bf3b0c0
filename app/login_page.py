"""The page where one logs in: no scripts, and nothing fetched from elsewhere."""

from app.ui.render import esc

_STYLE = """
:root { --good: #0f766e; --on: #ffffff; --bad: #b42318; --bad-soft: #fde7e4; --muted: #52607a; --line: #cbd5e1;
  --card: #ffffff; --ground: #f8fafc; --text: #0f172a; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --good: #2dd4bf; --on: #042f2e; --bad: #ff9d90; --bad-soft: #4a1f1c;
  --muted: #a3b1c6; --line: #3b4c66; --card: #0b1220; --ground: #0f172a; --text: #f1f5f9; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100dvh; display: grid; place-items: center; padding: 16px; background: var(--ground);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { width: min(380px, 100%); padding: 28px; border: 1px solid var(--line); border-radius: 14px;
  background: var(--card); }
h1 { display: flex; align-items: center; gap: 10px; margin: 0; font-size: 20px; font-weight: 650; }
h1 span { width: 22px; height: 22px; border-radius: 6px;
  background: conic-gradient(from 210deg, #0f766e, #5eead4 55%, #0f766e); }
p { margin: 6px 0 0; color: var(--muted); font-size: 14.5px; }
p.wrong { margin-top: 16px; padding: 10px 14px; border-radius: 10px; background: var(--bad-soft); color: var(--bad); }
label { display: block; margin-top: 16px; font-size: 14px; font-weight: 600; }
input { display: block; width: 100%; margin-top: 4px; padding: 10px 12px; border: 1px solid var(--line);
  border-radius: 9px; background: var(--ground); color: inherit; font: inherit; font-weight: 400; }
button { width: 100%; margin-top: 20px; padding: 11px; border: 1px solid var(--good); border-radius: 9px;
  background: var(--good); color: var(--on); font: inherit; font-weight: 600; cursor: pointer; }
button.quiet { margin-top: 10px; border-color: var(--line); background: none; color: inherit; font-weight: 400; }
:is(input, button):focus-visible { outline: 2px solid var(--good); outline-offset: 2px; }
"""


def login_page(name: str, error: str, guests: bool) -> str:
    """The page, with the name that was typed before and what was wrong with it; `guests` may come in without one."""
    wrong = f'<p class="wrong" role="alert">{esc(error)}</p>' if error else ""
    on_name, on_password = ("", " autofocus") if name else (" autofocus", "")
    guest = (
        '<form method="post" action="/login"><button class="quiet" name="guest" value="1">Look around as a guest'
        "</button></form>"
        if guests
        else ""
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in · Rememberer</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body><main><h1><span aria-hidden="true"></span>Rememberer</h1>
<p>Everybody here has a memory of their own.</p>{wrong}
<form method="post" action="/login">
<label>Name<input name="name" value="{esc(name)}" autocomplete="username" autocapitalize="none" spellcheck="false"
 maxlength="64" required{on_name}></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required{on_password}></label>
<button>Log in</button></form>{guest}</main></body></html>"""
