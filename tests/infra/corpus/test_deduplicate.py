from infra.corpus.deduplicate import Document, deduplicate


def prose(subject: str) -> str:
    sentence = (
        f"The {subject} keeps its own queue and hands each request to a worker that is idle at that time."
    )
    return " ".join([sentence] * 3)


def document(source: str, *subjects: str) -> Document:
    return Document(source, "\n\n".join(prose(subject) for subject in subjects))


def test_a_document_that_differs_only_in_case_and_blanks_is_an_exact_duplicate() -> None:
    first = document("a", "server", "client", "router")
    again = Document("b", first.text.upper().replace(" ", "  "))
    kept = deduplicate([first, again])
    assert kept.documents == [first]
    assert (kept.num_exact_duplicates, kept.num_near_duplicates) == (1, 0)


def test_a_mostly_repeated_document_goes_and_the_first_one_stays() -> None:
    first = document("a", "server", "client", "router")
    near = document("b", "server", "client", "printer")
    kept = deduplicate([first, near])
    assert kept.documents == [first]
    assert kept.num_near_duplicates == 1


def test_paragraphs_of_a_dropped_document_are_not_taken_from_later_ones() -> None:
    first = document("a", "server", "client", "router")
    near = document("b", "server", "client", "printer")
    later = document("c", "printer", "scanner", "plotter")
    assert deduplicate([first, near, later]).documents == [first, later]


def test_a_repeated_paragraph_leaves_a_document_that_is_otherwise_new() -> None:
    first = document("a", "server", "client", "router")
    second = document("b", "server", "printer", "scanner", "plotter")
    kept = deduplicate([first, second])
    assert kept.documents[1] == document("b", "printer", "scanner", "plotter")
    assert kept.num_duplicate_paragraphs == 1


def test_short_lines_may_repeat() -> None:
    first = Document("a", f"Description\n\n{document('', 'server', 'client').text}")
    second = Document("b", f"Description\n\n{document('', 'printer', 'scanner').text}")
    assert deduplicate([first, second]).documents == [first, second]
