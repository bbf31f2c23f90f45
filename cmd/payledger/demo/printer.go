package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"payledger/domain"
)

type printer struct{ w io.Writer }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *printer) chapter(number int, title string) { p.line("\n%d. %s\n", number, title) }

func (p *printer) request(method, path string, status int, took time.Duration, note string) {
	p.line("   %-4s %-46s %d  %6.1f ms", method, shorten(path, 46), status, float64(took.Microseconds())/1000)
	if note != "" {
		p.note(note)
	}
}

func (p *printer) unanswered(method, path, status, note string) {
	p.line("   %-4s %-46s %s", method, shorten(path, 46), status)
	p.note(note)
}

func (p *printer) note(text string) { p.line("        %s", text) }

func (p *printer) command(line string) { p.line("   $ %s", line) }

func (p *printer) output(output string) {
	for text := range strings.Lines(output) {
		p.line("     %s", strings.TrimRight(text, "\n"))
	}
}

func (p *printer) event(e audited) {
	p.line("   event %d  %-34s by %s", e.Revision, e.Type, e.Actor)
	p.line("            hash %s…", e.Hash[:min(len(e.Hash), 24)])
}

func (p *printer) webhook(h webhook) {
	about := h.Payment.Status
	if h.Amount > 0 {
		about = euros(h.Amount)
	}
	p.line("   webhook  %s", strings.TrimSpace(h.EventType+" "+about))
	p.line("            received and verified: signature, signedAt %s, sequence %d", h.SignedAt, h.Sequence)
}

func (p *printer) claim(c claim) {
	mark, text := "✓", c.text
	if c.fault != nil {
		mark, text = "✗", oneLine(c.fault)
	}
	p.line("   %s %s", mark, c.title)
	p.note(text)
}

func (p *printer) differs(difference error) { p.line("   ✗ %s", oneLine(difference)) }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (p *printer) leftOut(reason string) { p.line("   – left out: %s", reason) }

func (p *printer) passed() { p.line("   ✓ as expected") }

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return domain.Beginning(s, n-1) + "…"
}
