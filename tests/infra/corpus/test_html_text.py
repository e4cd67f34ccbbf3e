from infra.corpus.html_text import html_to_text


def test_only_the_marked_main_content_is_read() -> None:
    page = (
        "<html><head><title>T</title></head><body><div class='related'>next</div><p>outside</p>"
        "<div role='main'><h1>Locks<a class='headerlink' href='#'>¶</a></h1><p>A mutex  is\na lock.</p></div>"
        "<p>after</p></body></html>"
    )
    assert html_to_text(page) == "Locks\n\nA mutex is a lock."


def test_without_a_marked_main_the_body_is_read_without_its_navigation() -> None:
    page = (
        "<body><div class='navheader'><a>Prev</a></div><p>Kept.</p><script>var x;</script>"
        "<nav>menu</nav><div id='banner'>Download</div><p>Also kept.</p></body>"
    )
    assert html_to_text(page) == "Kept.\n\nAlso kept."


def test_inline_markup_keeps_words_together_and_apart() -> None:
    assert html_to_text("<p>un<em>believ</em>able <b>bold</b> text, <code>f</code>()</p>") == (
        "unbelievable bold text, f()"
    )


def test_code_keeps_its_lines_and_indentation() -> None:
    page = "<p>Run:</p><pre>for x in y:\n    <span>print</span>(x)\n</pre><p>Done.</p>"
    assert html_to_text(page) == "Run:\n\nfor x in y:\n    print(x)\n\nDone."


def test_list_items_and_table_rows_are_lines() -> None:
    listing = "<ul><li><p>one</p></li><li>two</li></ul>"
    table = "<table><tr><th>name</th><th>size</th></tr><tr><td><p>a</p><p>b</p></td><td>1</td></tr></table>"
    assert html_to_text(listing) == "- one\n\n- two"
    assert html_to_text(table) == "name  size\na b  1"


def test_entities_are_decoded_and_unclosed_elements_do_no_harm() -> None:
    assert html_to_text("<div><p>a &lt; b &amp; c<p>next<br>line</div><p>end</p></b>") == (
        "a < b & c\n\nnext\nline\n\nend"
    )
