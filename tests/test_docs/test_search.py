"""The search of the documentation site, in a browser, on pages opened from disk."""

import shutil
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = ("index.md", "attacks.md", "howto/audit.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Some pages as a site with the settings of mkdocs.yml, but for the Python reference, which takes long."""
    commands = pytest.importorskip("mkdocs.commands.build", reason="needs mkdocs: pip install -e '.[dev]'")
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    for page in PAGES:
        (folder / "docs" / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / "docs" / page, folder / "docs" / page)
    shutil.copytree(TOP / "docs/javascripts", folder / "docs/javascripts")
    settings = {"docs_dir": str(folder / "docs"), "site_dir": str(folder / "site"), "nav": list(PAGES)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        commands.build(load_config(str(TOP / "mkdocs.yml"), strict=False, plugins=["search", "offline"], **settings))
    return folder / "site"


@pytest.mark.parametrize("page", [name.replace(".md", ".html") for name in PAGES])
@pytest.mark.regression(number=23)
def test_a_query_finds_pages_without_network(browser, site, page):
    trouble = []
    opened = browser.new_page()
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("request", lambda request: request.url.startswith(("file:", "data:")) or trouble.append(request.url))
    opened.goto((site / page).as_uri())
    opened.locator(".md-search__input").press_sequentially("kadet")
    opened.locator(".md-search-result__link").first.click()
    opened.wait_for_url("**/attacks.html*")
    opened.close()
    assert trouble == []


def test_words_that_are_nowhere_find_nothing(browser, site):
    opened = browser.new_page()
    opened.goto((site / "index.html").as_uri())
    opened.locator(".md-search__input").press_sequentially("xylophone")
    opened.locator(".md-search-result__meta", has_text="No matching documents").wait_for(state="attached")
    assert opened.locator(".md-search-result__item").count() == 0
    opened.close()


@pytest.mark.regression(number=23)
def test_no_page_names_a_script_from_elsewhere(site):
    for page in site.rglob("*.html"):
        assert 'src="http' not in page.read_text(encoding="utf-8"), page
