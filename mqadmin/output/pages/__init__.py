"""Pages of HTML, each one file that opens without a network.

html_page.py     what every page is made of: head, style, tiles, sections, saving
charts.py        pictures as SVG text
store_page.py    a store directory as one page; that of a cluster is ``mqadmin.top.page``
"""
