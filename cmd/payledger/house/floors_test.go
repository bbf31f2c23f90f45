package house_test

import (
	"flag"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var draw = flag.Bool("draw", false, "draw the places of the event store's packages anew")

const (
	storeFolder = "eventstore"
	application = storeFolder + "/commands"
	floorsTitle = "// # Floors\n"
	placeTitle  = "// # Place\n"
)

// floor is a group of packages of the event store. A package imports packages of its own floor and
// of lower ones.
type floor struct {
	name, meaning string
	packages      []string // below eventstore; "" is eventstore itself; with /… all packages below
}

// floors are the floors of the event store, from the top.
var floors = []floor{
	{"application", "carries out what callers ask, calls processors, keeps secrets", []string{
		"commands/…", "secrets/…",
	}},
	{"log", "the contract Store, the engine, readers of the whole log; feed decodes for clients", []string{
		"", "engine", "eventstream", "feed", "ordered", "position", "prover", "turns", "verify",
	}},
	{"servers", "the NATS servers and folders that hold the log, its nodes and its back-ups", []string{
		"archive", "backup/…", "ceiling", "embedded", "external", "nodes", "remote",
	}},
	{"shards", "newest events, records, checkpoints and secrets; the owner of a shard", []string{
		"applied", "checkpointlog", "deliverylog", "handover", "ownership", "pace", "secretlog", "tiprow",
	}},
	{"storage", "the streams of a server, its files, and the tables of Pebble", []string{
		"blocks", "disk", "folder", "jetapi", "streams", "tipstore/…",
	}},
	{"bytes", "frames, groups, checkpoints, proofs; small tools", []string{
		"cache", "checkpoint", "codec", "due", "fault", "format", "proof", "stored", "workers",
	}},
}

func floorOf(folder string) int {
	name := inStore(folder)
	return slices.IndexFunc(floors, func(f floor) bool {
		return slices.ContainsFunc(f.packages, func(p string) bool {
			parent, all := strings.CutSuffix(p, "/…")
			return name == parent || all && below(name, parent)
		})
	})
}

// inStore returns the name of a folder of the event store in drawings.
func inStore(folder string) string {
	return strings.TrimPrefix(strings.TrimPrefix(folder, storeFolder), "/")
}

// neighbours are the importers and the imports of each package of the event store, tests aside.
type neighbours struct{ importers, imports map[string][]string }

func storeImports(t *testing.T) (n neighbours) {
	t.Helper()
	n = neighbours{map[string][]string{}, map[string][]string{}}
	add := func(to map[string][]string, of, folder string) {
		if !slices.Contains(to[of], folder) {
			to[of] = append(to[of], folder)
		}
	}
	for _, s := range sources(t) {
		if s.forTests() {
			continue
		}
		for _, imported := range s.imports() {
			folder, own := ours(imported)
			if !own || !below(folder, storeFolder) {
				continue
			}
			add(n.importers, folder, s.dir())
			if below(s.dir(), storeFolder) {
				add(n.imports, s.dir(), folder)
			}
		}
	}
	return n
}

// TestFloors checks that imports inside the event store go down, and that its first page draws the
// floors.
func TestFloors(t *testing.T) {
	check(t)
	for of, imports := range storeImports(t).imports {
		for _, folder := range imports {
			if from, to := floorOf(of), floorOf(folder); from < 0 || to < 0 || from > to {
				t.Errorf("%s (floor %d) imports %s (floor %d)", of, from, folder, to)
			}
		}
	}
	drawn(t, storeFolder+"/doc.go", floorsTitle, drawFloors())
}

func drawFloors() (lines []string) {
	const width = 92
	row := func(text string) string {
		return "│ " + text + strings.Repeat(" ", width-2-utf8.RuneCountInString(text)) + "│"
	}
	bar := strings.Repeat("─", width-1)
	for i, f := range floors {
		if i > 0 {
			lines = append(lines, strings.Repeat(" ", width/2)+"▼")
		}
		lines = append(lines, "┌"+bar+"┐", row(f.name+": "+f.meaning))
		text := " "
		for _, p := range f.packages {
			if p == "" {
				p = storeFolder
			}
			if utf8.RuneCountInString(text)+len(p) > width-4 {
				lines, text = append(lines, row(text)), " "
			}
			text += " " + p
		}
		lines = append(lines, row(text), "└"+bar+"┘")
	}
	return lines
}

// TestPlaces checks that every package of the store draws its place: who imports it, and what it
// imports.
func TestPlaces(t *testing.T) {
	check(t)
	n, places := storeImports(t), 0
	for _, s := range sources(t) {
		if s.forTests() || !below(s.dir(), storeFolder) || below(s.dir(), application) || s.dir() == storeFolder || path.Base(s.path) != "doc.go" {
			continue
		}
		places++
		drawn(t, s.path, placeTitle, drawPlace(n, s.dir()))
	}
	folders := map[string]bool{}
	for _, s := range sources(t) {
		if !s.forTests() && below(s.dir(), storeFolder) && !below(s.dir(), application) && s.dir() != storeFolder {
			folders[s.dir()] = true
			if s.file.Doc != nil && path.Base(s.path) != "doc.go" {
				t.Errorf("%s has the comment of its package: it belongs into doc.go", s.path)
			}
		}
	}
	if places < len(folders) {
		t.Errorf("%d of %d packages have a doc.go", places, len(folders))
	}
}

// drawPlace draws the floors around a package, from the top: its importers, the package itself, and
// what it imports.
func drawPlace(n neighbours, folder string) (lines []string) {
	row := func(name, mark string, folders []string) {
		if len(folders) > 0 {
			lines = append(lines, strings.TrimRight(name+strings.Repeat(" ", 12-len(name))+mark+" "+listed(folders), " "))
		}
	}
	on := func(floor int, folders []string) (there []string) {
		for _, f := range folders {
			if below(f, storeFolder) && floorOf(f) == floor {
				there = append(there, inStore(f))
			}
		}
		return there
	}
	var outside []string
	for _, f := range n.importers[folder] {
		if !below(f, storeFolder) && !slices.Contains(outside, top(f+"/")) {
			outside = append(outside, top(f+"/"))
		}
	}
	row("outside", " ", outside)
	for i, f := range floors {
		row(f.name, " ", on(i, n.importers[folder]))
		if i == floorOf(folder) {
			row(f.name, "►", []string{inStore(folder)})
		}
		row(f.name, " ", on(i, n.imports[folder]))
	}
	return lines
}

// listed returns folders in their order, with a number for those after the sixth.
func listed(folders []string) string {
	for i, f := range folders {
		if f == "" {
			folders[i] = storeFolder
		}
	}
	slices.Sort(folders)
	if len(folders) > 7 {
		return strings.Join(folders[:6], ", ") + " and " + strconv.Itoa(len(folders)-6) + " others"
	}
	return strings.Join(folders, ", ")
}

// drawn checks that a package's comment has a drawing under a heading. With -draw it writes the
// drawing.
func drawn(t *testing.T, file, heading string, lines []string) {
	t.Helper()
	text := tree(t)[file]
	drawing := "//\n"
	for _, line := range lines {
		drawing += "//\t" + line + "\n"
	}
	before, rest, found := strings.Cut(text, heading)
	if found && strings.HasPrefix(rest, drawing) {
		return
	}
	if !*draw {
		t.Errorf("%s does not have under %q:\n%s", file, strings.TrimSpace(heading), drawing)
		return
	}
	if found {
		for strings.HasPrefix(rest, "//\n") || strings.HasPrefix(rest, "//\t") {
			_, rest, _ = strings.Cut(rest, "\n")
		}
		if !strings.HasPrefix(rest, "package ") {
			rest = "//\n" + rest
		}
	} else {
		at := strings.Index(text, "\npackage ") + 1
		before, rest = text[:at]+"//\n", text[at:]
	}
	dir, err := root()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, file), []byte(before+heading+drawing+rest), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// deciding are the functions whose last argument decides on a state.
var deciding = []string{"Execute", "ExecuteNew", "ExecuteFrom", "Request", "Follow"}

// TestPureDecisions checks that what the application gives these functions has no use for a
// context: it can load and append nothing.
func TestPureDecisions(t *testing.T) {
	check(t)
	decisions := 0
	for _, s := range sources(t) {
		if s.forTests() || !below(s.dir(), application) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				name = f.Sel.Name
			case *ast.Ident:
				name = f.Name
			}
			decide, is := call.Args[len(call.Args)-1].(*ast.FuncLit)
			if !is || !slices.Contains(deciding, name) {
				return true
			}
			decisions++
			ast.Inspect(decide.Body, func(n ast.Node) bool {
				if x, is := n.(*ast.Ident); is && (x.Name == "ctx" || x.Name == "context") {
					t.Errorf("%s: a decision uses a context: it must be a function of the state, because it may run several times", s.at(x.Pos()))
				}
				return true
			})
			return true
		})
	}
	if decisions < 20 {
		t.Errorf("%d decisions were found", decisions)
	}
}
