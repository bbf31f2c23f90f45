package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/sys/unix"

	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
)

// mostTimes bounds the CPU time of a refusal as a multiple of the time in which encoding/json reads
// the same body and keeps nothing (D22.14).
const mostTimes = 10

// growth makes bodies that cost much: a short piece, repeated at a place of an operation's body.
type growth struct {
	*rand.Rand
	bodies map[string]*openapi3.Schema // by operation
	names  []string                    // of bodies, sorted
}

// grown is a body before it is written: the text before the repeated piece, the piece, and the text
// after it.
type grown struct {
	operation     string
	before, after string
	piece         string // in an object it begins with a name, in which %d is the piece's number
	inArray       bool
}

func (g growth) pick() grown {
	out := grown{operation: g.names[g.IntN(len(g.names))]}
	out.before, out.after = "{", "}"
	at := g.bodies[out.operation]
	for at != nil && g.IntN(4) > 0 { // go down
		s := plainSchema(at)
		switch {
		case len(s.Properties) > 0:
			names := fieldNames(s)
			name := names[g.IntN(len(names))]
			at = s.Properties[name].Value
			if next := plainSchema(at); next.Items == nil && len(next.Properties) == 0 && next.AdditionalProperties.Schema == nil {
				at = nil
				continue
			}
			out.before += g.beside(s) + strconv.Quote(name) + ":"
			if out.inArray = plainSchema(at).Items != nil; out.inArray {
				out.before, out.after = out.before+"[", "]"+out.after
			} else {
				out.before, out.after = out.before+"{", "}"+out.after
			}
		case s.Items != nil:
			at = s.Items.Value
			if len(plainSchema(at).Properties) == 0 {
				at = nil
				continue
			}
			out.before, out.after, out.inArray = out.before+"{", "}"+out.after, false
		default:
			at = nil
		}
	}
	out.piece = g.value(at, 2)
	if !out.inArray {
		out.piece = strconv.Quote(g.name(at)+"%d") + ":" + strings.ReplaceAll(out.piece, "%", "%%")
	}
	return out
}

func fieldNames(s *openapi3.Schema) []string {
	return slices.Sorted(maps.Keys(plainSchema(s).Properties))
}

// beside returns a field that stands before the repeated ones, mostly a wrong one.
func (g growth) beside(s *openapi3.Schema) string {
	if g.IntN(3) > 0 {
		return ""
	}
	return strconv.Quote(g.name(s)) + ":" + g.value(nil, 1) + ","
}

func plainSchema(s *openapi3.Schema) *openapi3.Schema {
	for len(s.AllOf) > 0 {
		s = s.AllOf[0].Value
	}
	return s
}

// name returns the name of a known field, a misspelled one, or another text.
func (g growth) name(s *openapi3.Schema) string {
	if s != nil {
		for _, known := range fieldNames(s) {
			switch g.IntN(4) {
			case 0:
				return known
			case 1:
				return strings.ToUpper(known)
			case 2:
				return known[1:] + known[:1]
			}
		}
	}
	return []string{"", "k", "a_long_name_that_nobody_knows", "é", `4111 1111 1111 `}[g.IntN(5)]
}

func (g growth) value(s *openapi3.Schema, depth int) string {
	if depth > 0 && s != nil && len(plainSchema(s).Properties) > 0 && g.IntN(2) == 0 {
		var b strings.Builder
		for _, name := range fieldNames(s) {
			if g.IntN(2) == 0 {
				b.WriteString(strconv.Quote(name) + ":" + g.value(plainSchema(s).Properties[name].Value, depth-1) + ",")
			}
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	if depth > 0 && g.IntN(3) == 0 {
		inside := g.value(nil, depth-1)
		return []string{"[" + inside + "]", `{"":` + inside + "}", "[" + inside + "," + inside + "]", `{"a":` + inside + `,"b":` + inside + "}"}[g.IntN(4)]
	}
	return []string{
		"0", "1", "-1", "1e1", "1e308", "0.1", "9007199254740993", "null", "true", "{}", "[]", `""`, `"x"`, `"\u0041"`, `"\ud83d\ude00"`, `"4111 1111 1111 1111"`,
		`"https://a/?4%2534=1"`, `"` + strings.Repeat("4", 40) + `"`, `"` + strings.Repeat(`\n`, 20) + `"`, `"2026-01-01T00:00:00Z"`, `"EUR"`, `"é"`, `[[[[[[]]]]]]`,
	}[g.IntN(23)]
}

func (b grown) text(size int) string {
	var text strings.Builder
	text.WriteString(b.before)
	for i := 0; text.Len() < size; i++ {
		if i > 0 {
			text.WriteByte(',')
		}
		if b.inArray {
			text.WriteString(b.piece)
		} else {
			fmt.Fprintf(&text, b.piece, i)
		}
	}
	text.WriteString(b.after)
	return text.String()
}

// cpu returns the CPU time of a call in its thread; garbage that is collected beside it does not
// count.
func cpu(call func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &before) // it cannot fail for this clock
	call()
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &after)
	return time.Duration(after.Nano() - before.Nano())
}

// TestCostOfGrownRefusals looks for bodies whose refusal costs much, for every operation: their
// memory and answers are bounded, and the CPU time of a large one is at most mostTimes the time of
// reading it (D22.14). The CPU time of a small one is that of up to 100 violations.
func TestCostOfGrownRefusals(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	a := testAPI(t)
	g := growth{Rand: rand.New(rand.NewPCG(seedtest.Seed(t), 1)), bodies: map[string]*openapi3.Schema{}}
	for name, o := range a.operations {
		if o.Body != nil {
			g.bodies[name], g.names = o.Body, append(g.names, name)
		}
	}
	slices.Sort(g.names)
	bodies := 4000
	if seedtest.Sampled() {
		bodies = 100
	}
	for _, size := range []int{2 << 10, 64 << 10} {
		refused := 0
		var worst struct{ times, memory, answer float64 }
		for range bodies {
			b := g.pick()
			text := b.text(size)
			var answer []byte
			refuse := func() {
				c := a.postCall(b.operation, text)
				if err := c.accept(); err != nil {
					c.failed(err)
					answer = c.w.(*httptest.ResponseRecorder).Body.Bytes()
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			refuse()
			runtime.ReadMemStats(&after)
			if answer == nil {
				continue
			}
			refused++
			memory, times := after.TotalAlloc-before.TotalAlloc, math.Inf(1)
			for again := 0; times > mostTimes && again < 3; again++ { // something else may have taken the processor's cache
				times = min(times, cpu(refuse).Seconds()/cpu(func() { _ = json.Valid([]byte(text)) }).Seconds())
			}
			worst.times, worst.memory, worst.answer = max(worst.times, times), max(worst.memory, float64(memory)), max(worst.answer, float64(len(answer)))
			slow := times > mostTimes && size > 2<<10 && !seedtest.Sampled() // a time is measured, so the short run does not depend on it
			if slow || memory > uint64(mostMemory*len(text)+smallMemory) || len(answer) > mostAnswer {
				t.Errorf("%s %.60s… %s …%s: %.1f times the time of reading, %d bytes of memory for %d bytes, answer of %d bytes",
					b.operation, b.before, b.piece, b.after, times, memory, len(text), len(answer))
			}
		}
		if refused < bodies/2 {
			t.Errorf("only %d of %d bodies are refused", refused, bodies)
		}
		t.Logf("%d refused bodies of %d bytes: at most %.1f times the time of reading, %.0f bytes of memory, answers of %.0f bytes",
			refused, size, worst.times, worst.memory, worst.answer)
	}
}
