"""Completion in the user's own shell: bash, zsh and fish.

    tab.py      click's completion of a line, and the scripts that ask for it
    live.py     names of topics, groups, brokers, for the word at the cursor, kept in a file

Rule: a Tab imports the module of one command at most, so that it is fast; it reads names from a
file, and prints no errors, because they would spoil the user's prompt.
"""
