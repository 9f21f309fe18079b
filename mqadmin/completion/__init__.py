"""Completion in the user's own shell: scripts for bash, zsh and fish.

    entries.py    what can follow what, read from the declarations
    bash.py, zsh.py, fish.py    the same entries, in the words of each shell
    cache.py      names of topics, groups, brokers, kept in a file between calls

Rule: commands and options are in the script itself, so that Tab starts no process for them;
only live names ask ``mqadmin completion names``, which answers from a file and is silent.
"""
