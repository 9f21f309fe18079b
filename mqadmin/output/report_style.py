"""The style sheet of the report page: light and dark, narrow and wide, on paper too."""

from typing import Final

STYLE: Final = """
:root{--page:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5d6b7c;--line:#e3e7ec;--bar:#2f6fd6;
--used:#9db8e2;--track:#edf0f4;--error:#d03b3b;--warning:#d98a00;--info:#7a8797;--good:#1c8a4b}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--card:#1b212a;--ink:#e6ebf1;
--soft:#94a2b3;--line:#2b333e;--bar:#6aa1f4;--used:#3d5a86;--track:#252d37;--error:#f06a6a;
--warning:#f0b04a;--info:#8793a3;--good:#4cc582}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:26px;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:17px;margin:0 0 14px}
h2 small{font-weight:400;color:var(--soft);margin-left:8px}
header p{margin:2px 0;color:var(--soft);overflow-wrap:anywhere}
section,.tile{background:var(--card);border:1px solid var(--line);border-radius:10px}
section{padding:18px 22px;margin-top:18px}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(225px,1fr));gap:12px;
margin-top:20px}
.tile{padding:12px 16px}
.tile span{display:block;color:var(--soft);font-size:13px}
.tile b{font-size:18px;overflow-wrap:anywhere}
.tile.good b{color:var(--good)}
.tile.bad b{color:var(--error)}
ul{color:var(--soft);margin:16px 0 0;padding-left:20px}
svg{display:block;width:100%;height:auto}
svg text{font-size:12.5px;fill:var(--ink)}
svg .value{fill:var(--soft);font-variant-numeric:tabular-nums}
.bar{fill:var(--bar)}.track{fill:var(--track)}.used{fill:var(--used)}
.error{fill:var(--error)}.warning{fill:var(--warning)}.info{fill:var(--info)}
.axis{stroke:var(--soft)}.grid{stroke:var(--line)}
.nothing{color:var(--soft);margin:6px 0 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;white-space:nowrap;color:var(--soft);font-weight:500}
th,td{padding:7px 10px 7px 0;border-bottom:1px solid var(--line);vertical-align:top;
overflow-wrap:anywhere;min-width:64px}
td:nth-child(2){white-space:nowrap}
.error-text{color:var(--error);font-weight:600}
.warning-text{color:var(--warning);font-weight:600}
.info-text{color:var(--info)}
@media print{body{background:#fff}section,.tile{break-inside:avoid}}
"""
