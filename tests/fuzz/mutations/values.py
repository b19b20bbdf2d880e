"""Values put where others are expected: numbers, as they are written, and texts."""

# Literals of JSON, or what decoders take for some.
NUMBERS = (
    *("0", "1", "-1", "2", "3", "0.5", "1.0", "1.5", "-0.0", "-0", "1E2", "0.30000000000000004", "0.999", "1e-400"),
    *("1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1e308", "-1e308", "5e-324", "1e-9", "2147483648"),
    *("9007199254740992", "9007199254740993", "18446744073709551616", "-9223372036854775809", "1" + "0" * 30),
    *("9" * 400, "9" * 5000, "0." + "3" * 500),
)

# Texts that mean something somewhere, steer a terminal, run in a spreadsheet, or are none.
TEXTS = (
    *("", " ", "  a", "a ", "a", "A", "b", "1", "01", "+1", "-5", "1,5", "1_000", "0x10", "1e5", "inf", "-inf", "50%"),
    *("NA", "nan", "NaN", "null", "None", "#N/A", "NaT", "?", "true", "TRUE", "no", "2024-01-31", "12:30"),
    *("\x00", "a\x00b", "\x1b[31mred", "\x1b]0;owned\x07", "\x9b2J", "\u202eabc", "\u200b", "\ufeff", "\u2028", "\x7f"),
    *("\ud800", "a\udfffb", "\U0010ffff", "\ufffe", "é", "e\u0301", "\xa0", "\u3000x"),
    *("\ufb01", "\u0130", "ß", "\uff11\uff12", "\u0663", "½", "\u22121"),
    *("=1+1", "@x", "+cmd|' /C calc'!A0", "-x", "'x", "a,b", 'a"b', '"', "a;b", "a\tb", "a|b", "a\\|b", "a\nb", "a\rb"),
    *("\\", "%s", "%(x)s", "{0}", "{k}", "[/b]", "[red]", "<script>alert(1)</script>", "&amp;", "$x$", "_", "^"),
    *("../x", "/etc/hostname", "con", "--json", "-", "--", "*", "?[x", "[a-", "**", "~", "x" * 300, "é" * 5000),
    *("count", "leaf", "P(a)", "P(<=50K)", "divergence", "predicted", "class", "N1", "L1", "Education", "Salary"),
    *("10-20", "20-10", "1-1", "*", "(1, 2]", "default", "auto", "label", "rate", "newton", "entropy", "maxent/1"),
)
