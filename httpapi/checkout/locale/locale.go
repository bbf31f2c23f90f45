// Package locale has the languages of the pages for customers: their words, and how they write
// money.
//
// A message is found by its English text. A language is a file in words; a test checks that each
// has every message, with the same placeholders.
package locale

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/language"

	"payledger/domain"
)

//go:embed words
var files embed.FS

// Locale is a language of the pages.
type Locale struct {
	Tag string // BCP 47
	Dir string // ltr or rtl
	format
	words map[string]string
}

// format is the form of money.
type format struct {
	Decimal string `json:"decimal"`
	Group   string `json:"group"`
	Money   string `json:"money"` // with {number} and {symbol}; a minus sign comes before both
}

// English returns the language of the messages themselves.
func English() *Locale {
	return &Locale{Tag: "en", Dir: "ltr", format: format{Decimal: ".", Group: ",", Money: "{symbol}{number}"}}
}

// Locales are all languages.
type Locales struct {
	all     []*Locale // English first
	matcher language.Matcher
}

// Load reads the languages.
func Load() (*Locales, error) {
	l := &Locales{all: []*Locale{English()}}
	found, err := fs.Glob(files, "words/*.json")
	if err != nil {
		return nil, fmt.Errorf("locale: %w", err)
	}
	for _, name := range found {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("locale: %w", err)
		}
		var file struct {
			format
			Words map[string]string `json:"words"`
		}
		if err := json.Unmarshal(text, &file); err != nil {
			return nil, fmt.Errorf("locale: %s: %w", name, err)
		}
		one := &Locale{Tag: strings.TrimSuffix(path.Base(name), ".json"), Dir: "ltr", format: file.format, words: file.Words}
		if one.Tag == "ar" {
			one.Dir = "rtl"
		}
		l.all = append(l.all, one)
	}
	var tags []language.Tag
	for _, one := range l.all {
		tag, err := language.Parse(one.Tag)
		if err != nil {
			return nil, fmt.Errorf("locale: %s: %w", one.Tag, err)
		}
		tags = append(tags, tag)
	}
	l.matcher = language.NewMatcher(tags)
	return l, nil
}

// All returns all languages, English first.
func (l *Locales) All() []*Locale { return l.all }

// Choose returns the language that fits best: that of the address if it names one that is there,
// else that of the browser's Accept-Language; English if none fits.
func (l *Locales) Choose(named, accepted string) *Locale {
	for _, text := range []string{named, accepted} {
		wanted, _, err := language.ParseAcceptLanguage(text)
		if err != nil || len(wanted) == 0 {
			continue
		}
		if _, i, sure := l.matcher.Match(wanted...); sure >= language.Low {
			return l.all[i]
		}
	}
	return l.all[0]
}

// Isolates around a value in a text from right to left: signs and digits of the value stay where
// they are.
const isolate, endIsolate = "\u2068", "\u2069"

// Say returns a message, with values in the place of {name}: pairs of a name and its value. A value
// is not looked through for further names.
func (l *Locale) Say(message string, values ...string) string {
	if own := l.words[message]; own != "" {
		message = own
	}
	pairs := make([]string, len(values))
	for i, text := range values {
		switch {
		case i%2 == 0:
			pairs[i] = "{" + text + "}"
		case l.Dir == "rtl":
			pairs[i] = isolate + text + endIsolate
		default:
			pairs[i] = text
		}
	}
	return strings.NewReplacer(pairs...).Replace(message)
}

// Words returns messages with their words in this language, for a page's script.
func (l *Locale) Words(messages []string) map[string]string {
	own := map[string]string{}
	for _, message := range messages {
		own[message] = l.Say(message)
	}
	return own
}

// Amount writes an amount: in English "€1,234.50", "¥1,235", "KWD 1.234", "−$3.00".
func (l *Locale) Amount(a domain.Amount, c domain.Currency) string {
	number := strings.TrimSuffix(a.Format(c), " "+string(c))
	sign := ""
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		sign, number = "\u2212", rest
	}
	symbol, known := symbols[c]
	pattern := l.Money
	if !known {
		symbol = string(c)
		pattern = strings.Replace(pattern, "{symbol}{number}", "{symbol}"+noBreak+"{number}", 1) // a code is a word
	}
	return sign + strings.NewReplacer("{symbol}", symbol, "{number}", l.grouped(number)).Replace(pattern)
}

// symbols are the currency symbols of CLDR for en-US; other currencies are written with their code.
var symbols = map[domain.Currency]string{
	"AUD": "A$", "BRL": "R$", "CAD": "CA$", "CNY": "CN¥", "EUR": "€", "GBP": "£", "HKD": "HK$", "ILS": "₪", "INR": "₹",
	"JPY": "¥", "KRW": "₩", "MXN": "MX$", "NZD": "NZ$", "PHP": "₱", "TWD": "NT$", "USD": "$", "VND": "₫",
}

// noBreak keeps a code and its amount on one line.
const noBreak = "\u00a0"

func (l *Locale) grouped(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteString(l.Group)
		}
		b.WriteRune(digit)
	}
	if fraction != "" {
		b.WriteString(l.Decimal + fraction)
	}
	return b.String()
}
