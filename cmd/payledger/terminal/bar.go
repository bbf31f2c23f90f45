package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar shows the progress of a command on a terminal, with its rate and the remaining time. A
// command has one bar, whatever it does in turn.
type Bar struct {
	out    io.Writer // nil: no terminal
	now    func() time.Time
	drawn  *progressbar.ProgressBar
	what   string
	of     uint64
	begun  time.Time // of the first call
	before uint64    // that were done at the first call
	last   time.Time // of a drawing
}

// NewBar returns a bar on a terminal. On any other output the bar shows nothing.
func NewBar(out io.Writer) *Bar {
	if !Is(out) {
		out = nil
	}
	return &Bar{out: out, now: time.Now}
}

// patience is the time before a bar is drawn: a shorter work needs none, and a rate over a shorter
// time means nothing.
const patience = time.Second

// pause is the time between two drawings.
const pause = 100 * time.Millisecond

// Show draws the bar of a number of things, for example "events". If the total is unknown (0), it
// shows only their count and rate.
func (b *Bar) Show(what string, done, of uint64) { b.Step("", what, done, of) }

// Step draws the bar of a command with several steps. Its text names the step that goes on.
func (b *Bar) Step(text, what string, done, of uint64) {
	if b.out == nil {
		return
	}
	if b.what != what {
		b.Clear()
		b.what, b.begun, b.before, b.drawn = what, b.now(), done, nil
	}
	total := int64(of)
	if of == 0 {
		total = -1
	}
	if b.of != of && b.drawn != nil {
		b.drawn.ChangeMax64(total)
	}
	b.of = of
	now := b.now()
	if now.Sub(b.begun) < patience || now.Sub(b.last) < pause {
		return
	}
	b.last = now
	if b.drawn == nil {
		b.drawn = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.out), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(20))
	}
	b.fail(b.drawn.Set64(int64(done)))
	b.drawn.Describe(b.pace(text, done))
}

// pace returns the rate since the first call, and the time that the rest takes at this rate.
func (b *Bar) pace(text string, done uint64) string {
	passed := b.now().Sub(b.begun).Seconds()
	rate := float64(done-min(done, b.before)) / passed
	parts := []string{fmt.Sprintf("%.0f %s/s", rate, b.what)}
	if b.of > 0 && rate > 0 {
		left := time.Duration(float64(b.of-min(b.of, done)) / rate * float64(time.Second))
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	if text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Events draws the bar for events.
func (b *Bar) Events(done, of uint64) { b.Show("events", done, of) }

// Clear removes the bar before a line of output.
func (b *Bar) Clear() {
	if b.out != nil && b.drawn != nil {
		b.fail(b.drawn.Clear())
	}
}

// fail prints an error of the bar and stops drawing; the work continues.
func (b *Bar) fail(err error) {
	if err != nil {
		fmt.Fprintln(b.out, "progress:", err)
		b.out = nil
	}
}
