package domain_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
)

// aggregates lists the events of each, as the code that must know them all gets them.
var aggregates = []struct {
	name   string
	events []domain.Event
}{
	{"payment", eventsOf(payment.Events())},
	{"session", eventsOf(session.Events())},
	{"instrument", eventsOf(instrument.Events())},
	{"attempt", eventsOf(attempt.Events())},
	{"account", eventsOf(account.Events())},
	{"dispute", eventsOf(dispute.Events())},
	{"inbox", eventsOf(inbox.Events())},
	{"person", eventsOf(person.Events())},
	{"workflow", eventsOf(workflow.Events())},
	{"workflow_run", eventsOf(workflow.RunEvents())},
	{"webhook", eventsOf(webhook.Events())},
}

// folders are those of aggregates that share one with another, by the aggregate's name.
var folders = map[string]string{"workflow_run": "workflow"}

func eventsOf[E domain.Event](events []E) []domain.Event {
	all := make([]domain.Event, 0, len(events))
	for _, e := range events {
		all = append(all, e)
	}
	return all
}

// declarations are the type declarations of a package's source.
type declarations map[string]*ast.TypeSpec

// vocabulary reads a package. It returns all types, and the names of the types with a name in the
// log.
func vocabulary(t *testing.T, dir string) (types declarations, named []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	types = declarations{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						if ts.Doc == nil {
							ts.Doc = d.Doc
						}
						types[ts.Name.Name] = ts
					}
				}
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "Type" {
					named = append(named, d.Recv.List[0].Type.(*ast.Ident).Name)
				}
			}
		}
	}
	return types, named
}

// TestEventsAreAll: an event that has a name but is not in Events() would be unknown to the codec.
// That those listed are sealed, the compiler sees.
func TestEventsAreAll(t *testing.T) {
	names := map[string]string{}
	listed := map[string][]string{} // by folder
	for _, a := range aggregates {
		folder := cmp.Or(folders[a.name], a.name)
		for _, e := range a.events {
			listed[folder] = append(listed[folder], reflect.TypeOf(e).Name())
			if names[e.Type()] != "" {
				t.Errorf("%s and %s are both called %s", names[e.Type()], reflect.TypeOf(e), e.Type())
			}
			names[e.Type()] = reflect.TypeOf(e).String()
			if !strings.HasPrefix(e.Type(), a.name+".") {
				t.Errorf("%s is not of %s by its name", e.Type(), a.name)
			}
		}
	}
	for folder, listed := range listed {
		_, named := vocabulary(t, folder)
		slices.Sort(named)
		slices.Sort(listed)
		if !slices.Equal(named, listed) {
			t.Errorf("%s names %v and lists %v", folder, named, listed)
		}
	}
}

// TestEventsDocument compares EVENTS.md with the code. Every field needs a comment.
func TestEventsDocument(t *testing.T) {
	w := &writer{t: t, sources: map[string]declarations{}, objects: map[string]reflect.Type{}}
	w.printf("# Events\n\nGenerated from the code by `go test ./domain -run TestEventsDocument -update`; a test compares it with the code.\n\n")
	w.printf("Every event of every aggregate, by its name in the log (`ce-type`), with the fields of its body. Amounts are\n")
	w.printf("integers in minor units of the payment's currency; times are in UTC. A field whose value is\n")
	w.printf("empty is left out, unless it is marked \"always\". One marked \"in JSON if not empty\" is always in the log's bytes, where the zero\n")
	w.printf("time or an empty text says that there is no value; events in JSON leave it out. § and D numbers are those of the contract, httpapi/CONTRACT.md.\n")
	for _, a := range aggregates {
		w.printf("\n## %s\n", a.name)
		for _, e := range a.events {
			typ := reflect.TypeOf(e)
			w.printf("\n### `%s`\n\n%s\n\n", e.Type(), w.meaning(typ))
			w.table(typ)
		}
	}
	w.printf("\n## Objects\n\nThe objects in the fields of events.\n")
	for _, name := range w.reach() {
		typ := w.objects[name]
		w.printf("\n### %s\n\n%s\n\n", name, w.meaning(typ))
		w.table(typ)
	}
	for line := range strings.Lines(w.text.String()) {
		if cells := strings.Split(strings.Trim(line, "|\n"), "|"); line[0] == '|' && slices.ContainsFunc(cells, emptyCell) {
			t.Errorf("EVENTS.md would have an empty cell: %s", line)
		}
	}
	golden(t, "EVENTS.md", []byte(w.text.String()))
}

func emptyCell(cell string) bool { return strings.TrimSpace(cell) == "" }

// writer writes EVENTS.md and remembers which objects it has named.
type writer struct {
	t       *testing.T
	text    strings.Builder
	sources map[string]declarations
	objects map[string]reflect.Type
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.text, format, args...) }

// reach returns the names of all objects, nested objects included.
func (w *writer) reach() []string {
	for known := -1; known < len(w.objects); {
		known = len(w.objects)
		for _, typ := range maps.Clone(w.objects) {
			for f := range typ.Fields() {
				w.kind(f.Type)
			}
		}
	}
	return slices.Sorted(maps.Keys(w.objects))
}

// declaration finds a type in the source.
func (w *writer) declaration(typ reflect.Type) *ast.TypeSpec {
	dir := "." + strings.TrimPrefix(typ.PkgPath(), "payledger/domain")
	dir = strings.Replace(dir, "./", "", 1)
	if w.sources[dir] == nil {
		w.sources[dir], _ = vocabulary(w.t, dir)
	}
	spec := w.sources[dir][typ.Name()]
	if spec == nil {
		w.t.Fatalf("%s is not declared in %s", typ, dir)
	}
	return spec
}

// meaning returns the comment of a type without its Go name, for example "Says that the processor
// holds the amount."
func (w *writer) meaning(typ reflect.Type) string {
	doc := w.declaration(typ).Doc
	if doc == nil {
		w.t.Fatalf("%s says nothing about itself", typ)
	}
	text := strings.TrimPrefix(strings.Join(strings.Fields(doc.Text()), " "), typ.Name()+" ")
	for _, start := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, start)
	}
	return strings.ReplaceAll(strings.ToUpper(text[:1])+text[1:], "<", "&lt;")
}

func (w *writer) table(typ reflect.Type) {
	w.printf("| field | type | present | meaning |\n|---|---|---|---|\n")
	w.rows(typ)
}

// rows writes the fields. The fields of an embedded struct are listed like the others.
func (w *writer) rows(typ reflect.Type) {
	fields := w.declaration(typ).Type.(*ast.StructType).Fields.List
	notes := map[string]string{}
	for _, f := range fields {
		for _, name := range f.Names {
			notes[name.Name] = note(f)
		}
	}
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			w.rows(f.Type)
		case name == "-": // not in the log
		case name == "":
			w.t.Errorf("%s.%s has no name in the log", typ, f.Name)
		default:
			always := "always"
			if strings.Contains(options, "omitempty") {
				always = "if not empty"
			}
			if strings.Contains(options, "omitzero") {
				always = "in JSON if not empty"
			}
			if notes[f.Name] == "" {
				w.t.Errorf("%s.%s has no comment that says its meaning", typ, f.Name)
			}
			w.printf("| `%s` | %s | %s | %s |\n", name, w.kind(f.Type), always, notes[f.Name])
		}
	}
}

func note(f *ast.Field) string {
	text := f.Comment.Text()
	if text == "" {
		text = f.Doc.Text()
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// kind names the type of a field for a reader who knows no Go.
func (w *writer) kind(typ reflect.Type) string {
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return "time"
	case typ == reflect.TypeFor[domain.Amount]():
		return "amount"
	case typ == reflect.TypeFor[domain.Metadata]():
		return "map of string, integer or boolean"
	case typ == reflect.TypeFor[[]byte]():
		return "bytes"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return w.kind(typ.Elem())
	case reflect.Slice:
		return "list of " + w.kind(typ.Elem())
	case reflect.Struct:
		w.objects[typ.String()] = typ
		return typ.String()
	case reflect.String:
		if typ.Name() != "string" {
			return "string, " + typ.Name()
		}
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int64, reflect.Uint64, reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	default:
		w.t.Fatalf("%s has no place in an event", typ)
		return ""
	}
}
