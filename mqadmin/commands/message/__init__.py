"""Commands about single messages: find, print, follow, trace, send and export them.

Most of them also read a store directory (``--store DIR``); ``mqadmin.messages`` gives the rows of
both sides. Resending, recalling and handing a message to a consumer change something on a server,
and so ask first or can be tried with ``--dry-run``.
"""
