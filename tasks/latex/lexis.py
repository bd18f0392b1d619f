"""What LaTeX names mean to a rewriter: tables of environments and commands, nothing that reads text.

An environment is ``verbatim`` (raw until its literal end), ``math`` or ``opaque`` (protected whole), ``float``
(protected but for its captions) or ``prose`` (transparent). A command is looked up here by what follows it: no
argument, prose in its argument, a heading, an include. What an author defines is found by ``macros.py``; what is in
neither is protected.
"""

from __future__ import annotations


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _starred(words: str) -> frozenset[str]:
    return frozenset(name + star for name in words.split() for star in ("", "*"))


VERBATIM = _starred(
    "verbatim Verbatim BVerbatim LVerbatim SaveVerbatim VerbatimOut lstlisting minted alltt comment "
    "filecontents tcblisting spverbatim listing-verb code codechunk Sinput Soutput pyglist asy luacode "
    "sagesilent dot2tex"
)
MATH = _starred(
    "equation align alignat flalign gather multline eqnarray displaymath math dmath dgroup darray subequations "
    "IEEEeqnarray xalignat xxalignat split aligned gathered cases array prooftree mathpar empheq numcases "
    "subnumcases CD"
)
OPAQUE = _starred(
    "tabular tabularx tabulary longtable supertabular xtabular longtblr tblr talltblr NiceTabular tabbing "
    "tikzpicture pgfpicture axis circuitikz forest tikzcd picture pspicture psfrags algorithmic "
    "algorithmcell thebibliography CSLReferences references bibliography biblist CCSXML filecontents "
    "scope Shaded Highlighting lrbox overpic tablenotes threeparttable verse titlepage author authors "
    "icmlauthorlist keywords IEEEkeywords keyword dialogue program feynman diagram nomenclature "
    "IEEEbiography IEEEbiographynophoto adjustbox pgfonlayer algorithm2e pseudocode"
)
FLOAT = _starred(
    "figure table wrapfigure wraptable sidewaysfigure sidewaystable SCfigure SCtable floatingfigure algorithm "
    "margintable marginfigure teaserfigure listing lstfloat procedure function subfigure subtable "
    "measuredfigure"
)
PROSE = _starred(
    "document abstract itemize enumerate description list trivlist quote quotation center flushleft flushright "
    "minipage proof theorem lemma corollary proposition definition remark example conjecture claim fact "
    "assumption observation property problem exercise hypothesis notation note small footnotesize "
    "scriptsize large sloppypar spacing singlespace onehalfspace doublespace multicols landscape appendices "
    "appendix acks acknowledgments acknowledgements acknowledgement frontmatter mainmatter backmatter "
    "widetext strip inparaenum compactitem compactenum inparaitem asparaenum unnumlist tcolorbox mdframed "
    "framed shaded leftbar adjustwidth changemargin refsection refsegment subappendices otherlanguage "
    "CJK CJK* onecolabstract paperabstract textblock thm lem cor prop defn rem samepage raggedright fussy "
    "highlights summary significance abstracts resume keypoints"
)

CONDITIONALS = _names(
    "if ifcat ifx ifnum ifdim ifodd ifvmode ifhmode ifmmode ifinner ifvoid ifhbox ifvbox ifeof ifcase "
    "ifdefined ifcsname iffontchar ifpdf ifxetex ifluatex ifPDFTeX ifXeTeX ifLuaTeX iftutex ifpdftex "
    "ifCLASSOPTIONonecolumn ifCLASSOPTIONtwocolumn ifCLASSOPTIONconference ifCLASSOPTIONjournal"
)

HEADINGS = _names("part chapter section subsection subsubsection paragraph subparagraph minisec addsec addchap")
TITLES = _names("title icmltitle aistatstitle conferencetitle runtitle Title")
ABSTRACTS = _names("abstract Abstract abst abstracttext IEEEtitleabstractindextext")
CAPTIONS = _names("caption captionof subcaption legend caption* tablecaption figcaption tabcaption")
NOTES = _names("footnote footnotetext endnote sidenote")
INCLUDES = _names(
    "input include subfile subfileinclude import subimport inputfrom includefrom subinputfrom subincludefrom "
    "InputIfFileExists @input loadexternal"
)
DEFINITIONS = _names(
    "newcommand renewcommand providecommand DeclareRobustCommand newenvironment renewenvironment "
    "NewDocumentCommand RenewDocumentCommand ProvideDocumentCommand DeclareDocumentCommand "
    "NewDocumentEnvironment RenewDocumentEnvironment DeclareMathOperator def gdef edef xdef newcolumntype "
    "lstdefinelanguage lstdefinestyle tikzset pgfplotsset newtheorem lstset newtcolorbox hypersetup "
    "DeclarePairedDelimiter newtcbtheorem declaretheorem setlist captionsetup sisetup"
)
WRAPPERS = {
    name: 0
    for name in _names(
        "emph textbf textit textsl textsc textrm textsf textmd textup textnormal underline "
        "enquote uline uwave textquote em"
    )
}
"""Commands whose last argument is prose of the paragraph, with how many protected arguments come before it."""
WRAPPERS |= {"textcolor": 1, "colorbox": 1, "hypertarget": 1}
DECLARATIONS = _names(
    "bf it sl sc rm sf tt em bfseries itshape slshape scshape rmfamily sffamily ttfamily mdseries upshape "
    "normalfont tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge centering "
    "raggedright raggedleft noindent indent sloppy fussy selectfont protect relax leavevmode unskip "
    "ignorespaces xspace null strut allowbreak nobreak break linebreak nolinebreak hfill hfil vfill vfil "
    "hrulefill dotfill nopagebreak onecolumn twocolumn singlespacing doublespacing onehalfspacing "
    "boldmath unboldmath makeatletter makeatother begingroup endgroup bgroup egroup flushbottom "
    "raggedbottom balance FloatBarrier nonumber displaystyle textstyle justify justifying"
)
SYMBOLS = _names(
    "ldots dots cdots textellipsis LaTeX TeX LaTeXe BibTeX S P dag ddag copyright pounds textregistered "
    "texttrademark textdegree textbackslash textasciitilde textasciicircum textbar textless textgreater "
    "textquotesingle textquotedblleft textquotedblright textquoteleft textquoteright lq rq textendash "
    "textemdash textbullet textperiodcentered texteuro euro quad qquad enspace enskip thinspace space eg ie etal "
    "etc cf slash today thepage textmu textdollar textpercent textunderscore hyp"
)
LETTERS = _names("ss o O ae AE oe OE aa AA l L i j dh DH th TH ng NG SS")
ACCENTS = _names("c v u H k r d b t")
BLOCKS = _names(
    "par item newpage clearpage cleardoublepage pagebreak maketitle bigskip medskip smallskip appendix "
    "tableofcontents listoffigures listoftables printbibliography bibliography bibliographystyle vskip "
    "addvspace hline printindex makeabstract endinput author affiliation address email date thanks keywords "
    "icmlkeywords pacs subjclass pagestyle thispagestyle setcounter addtocounter setlength addtolength "
    "printAffiliationsAndNotice graphicspath newline markboth addcontentsline rule hrule frontmatter mainmatter "
    "backmatter appendices acknowledgments acknowledgements bibitem bye end"
)
LAYOUT = _names(
    "label index vspace hspace noindent indent centering small footnotesize normalsize scriptsize large "
    "phantomsection vskip hskip medskip smallskip bigskip nobreak pagebreak linebreak sloppy par leavevmode "
    "newpage marginpar marginnote todo glsreset enlargethispage"
)
RAW_ARGUMENT = _names("url path nolinkurl href hyperref urlstyle Url")
SHORT_VERBS = _names("verb lstinline mintinline Verb spverb mint py pygment code-verb")
ENCODINGS = {
    "latin1": "latin-1",
    "ansinew": "cp1252",
    "cp1252": "cp1252",
    "latin9": "iso8859-15",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin3": "iso8859-3",
    "latin4": "iso8859-4",
    "latin10": "iso8859-16",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "applemac": "mac-roman",
    "macce": "mac-latin2",
    "cp437": "cp437",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "iso88595": "iso8859-5",
}
"""inputenc options and the codecs that read the same bytes."""
