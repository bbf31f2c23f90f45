package locale

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func loaded(t *testing.T) *Locales {
	t.Helper()
	l, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// spoken returns all messages of the pages, as templates, scripts and Go files name them.
func spoken(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for glob, patterns := range map[string][]string{
		"../templates/*.html": {`\{\{t "([^"]+)"`, `shop \. "([^"]+)"`, `shop \. "[^"]+" "([^"]+)"`},
		"../assets/*.js":      {`\b(?:t|say)\("([^"]+)"`},
		"../*.go":             {`l\.Say\("([^"]+)"`, `= Notice\{\s*"([^"]+)"`, `= Notice\{\s*"[^"]+",\s*"([^"]+)"`, `add\("([^"]+)"`, `line\("([^"]+)"`},
	} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatal(glob, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, pattern := range patterns {
				for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
					found[m[1]] = true
				}
			}
		}
	}
	delete(found, "{shop}") // the name alone
	return slices.Sorted(maps.Keys(found))
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// TestWords: each language has every message of the pages and no other, with the placeholders of
// the English text and no markup.
func TestWords(t *testing.T) {
	t.Parallel()
	want := spoken(t)
	if len(want) < 100 {
		t.Fatalf("%d messages were found", len(want))
	}
	for _, l := range loaded(t).All()[1:] {
		if got := slices.Sorted(maps.Keys(l.words)); !slices.Equal(got, want) {
			for _, message := range want {
				if l.words[message] == "" {
					t.Errorf("%s lacks %q", l.Tag, message)
				}
			}
			for _, message := range got {
				if !slices.Contains(want, message) {
					t.Errorf("%s has %q, which no page says", l.Tag, message)
				}
			}
		}
		for message, text := range l.words {
			a, b := placeholder.FindAllString(message, -1), placeholder.FindAllString(text, -1)
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) || strings.ContainsAny(text, "<>") {
				t.Errorf("%s: %q is said as %q", l.Tag, message, text)
			}
		}
		if !strings.Contains(l.Money, "{number}") || !strings.Contains(l.Money, "{symbol}") || l.Decimal == l.Group || l.Decimal == "" {
			t.Errorf("%s writes money as %+v", l.Tag, l.format)
		}
	}
}

// TestChoose: the address decides before the browser, an unknown language gives way to the next one
// that is there, and English is the last resort.
func TestChoose(t *testing.T) {
	t.Parallel()
	all := loaded(t)
	for _, c := range []struct{ named, accepted, want string }{
		{"", "", "en"}, {"", "de-AT,de;q=0.9,en;q=0.8", "de"}, {"fr", "de", "fr"}, {"sv", "de", "de"}, {"", "sv, nl;q=0.5", "nl"}, {"pt-PT", "", "pt"},
		{"", "ar-EG", "ar"}, {"ja-JP", "de", "ja"}, {"<script>", "pl", "pl"}, {"", "*", "en"}, {"", strings.Repeat("de,", 5000), "de"}, {"EN-gb", "de", "en"},
	} {
		if got := all.Choose(c.named, c.accepted); got.Tag != c.want {
			t.Errorf("%.40q and %.40q get %s, want %s", c.named, c.accepted, got.Tag, c.want)
		}
	}
}

// TestAmount: each language writes money in its way, with the digits of the currency.
func TestAmount(t *testing.T) {
	t.Parallel()
	want := map[string][3]string{
		"en": {"€1,234.50", "¥1,235", "−KWD\u00a01.234"}, "de": {"1.234,50\u00a0€", "1.235\u00a0¥", "−1,234\u00a0KWD"},
		"fr": {"1\u202f234,50\u00a0€", "1\u202f235\u00a0¥", "−1,234\u00a0KWD"}, "nl": {"€\u00a01.234,50", "¥\u00a01.235", "−KWD\u00a01,234"},
		"ja": {"€1,234.50", "¥1,235", "−KWD\u00a01.234"}, "ar": {"1,234.50\u00a0€", "1,235\u00a0¥", "−1.234\u00a0KWD"},
	}
	for _, l := range loaded(t).All() {
		if own, has := want[l.Tag]; has {
			if got := [3]string{l.Amount(123450, "EUR"), l.Amount(1235, "JPY"), l.Amount(-1234, "KWD")}; got != own {
				t.Errorf("%s writes %q, want %q", l.Tag, got, own)
			}
		}
	}
}

// TestSay: values take the place of their names, are not looked through for others, and keep their
// order in a text from right to left.
func TestSay(t *testing.T) {
	t.Parallel()
	if got := English().Say("{total} to {shop}. Thank you.", "shop", "{total}", "total", "€1"); got != "€1 to {total}. Thank you." {
		t.Errorf("says %q", got)
	}
	arabic := loaded(t).Choose("ar", "")
	if got := arabic.Say("Pay {total}", "total", "€1"); arabic.Dir != "rtl" || !strings.Contains(got, "\u2068€1\u2069") {
		t.Errorf("says %q", got)
	}
}
