"""The rule-based producer: the ten conditions as lexical and structural rules on masked prose.

``language.py`` knows surface English (sentences, quotations, articles, case), ``inflect.py`` verb forms,
``notation.py`` how a rule is written down, ``table.py`` reads the packaged tables, ``engine.py`` applies one table to
one text, ``conditions.py`` composes them into conditions, ``review.py`` finds weak spots for the feedback-guided one.
No LaTeX and no model belongs here.
"""
