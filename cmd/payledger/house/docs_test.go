package house_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPackageComments(t *testing.T) {
	check(t)
	documented := map[string][]string{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		dir := s.dir()
		files := documented[dir]
		if s.file.Doc != nil {
			files = append(files, path.Base(s.path))
		}
		documented[dir] = files // a package without a comment is listed, too
	}
	for dir, files := range documented {
		if len(files) != 1 {
			t.Errorf("%s has its package comment in %v, not in one file", dir, files)
		}
	}
}

// usual are methods that the interface they belong to explains.
var usual = []string{
	"Error", "Unwrap", "Is", "As", "String", "Type", "ServeHTTP", "Read", "Write", "Close", "Len", "Less", "Swap", "Push", "Pop",
	"MarshalJSON", "UnmarshalJSON", "RoundTrip",
}

func TestDocComments(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		if s.isTest() || s.generated() {
			continue
		}
		var above *ast.GenDecl // a type's declaration right above
		covered := -1          // the last line of a row of functions that began with a comment
		for _, decl := range s.file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				checkGroup(t, s, d, above)
				if above = d; d.Tok != token.TYPE {
					above = nil
				}
			case *ast.FuncDecl:
				above = nil
				if d.Doc != nil || s.set.Position(d.Pos()).Line == covered+1 {
					covered = s.set.Position(d.End()).Line
					continue
				}
				if shown(d) {
					t.Errorf("%s: %s has no comment", s.at(d.Pos()), d.Name.Name)
				}
			}
		}
	}
}

// shown reports whether a function needs a comment: it is exported, of an exported type, and no
// usual method.
func shown(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() || d.Recv == nil {
		return d.Name.IsExported()
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	id, ok := receiver.(*ast.Ident)
	return (!ok || id.IsExported()) && !slices.Contains(usual, d.Name.Name)
}

func checkGroup(t *testing.T, s source, d, above *ast.GenDecl) {
	t.Helper()
	if d.Tok == token.IMPORT || d.Doc != nil {
		return
	}
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && spec.Doc == nil && spec.Comment == nil {
				t.Errorf("%s: %s has no comment", s.at(spec.Pos()), spec.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && spec.Doc == nil && spec.Comment == nil && !ofType(d, above) {
					t.Errorf("%s: %s has no comment", s.at(name.Pos()), name.Name)
				}
			}
		}
	}
}

// ofType reports whether the first constant of a group has the type declared right above.
func ofType(d, above *ast.GenDecl) bool {
	if above == nil || above.Doc == nil || len(above.Specs) != 1 {
		return false
	}
	typ, ok := d.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident)
	return ok && typ.Name == above.Specs[0].(*ast.TypeSpec).Name.Name
}

// requirement matches a module in go.mod.
var requirement = regexp.MustCompile(`(?m)^\t(\S+) v\S+( // indirect)?$`)

// reason matches a row of the table of dependencies, deploy/DEPENDENCIES.md.
var reason = regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \| [^|]*[^| ][^|]* \|$`)

func TestDependencies(t *testing.T) {
	check(t)
	files := tree(t)
	indirect, imported, reasons := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range requirement.FindAllStringSubmatch(files["go.mod"], -1) {
		indirect[m[1]] = m[2] != ""
	}
	for _, s := range sources(t) {
		for _, name := range s.imports() {
			imported[moduleOf(indirect, name)] = true
		}
	}
	for _, m := range reason.FindAllStringSubmatch(files["deploy/DEPENDENCIES.md"], -1) {
		reasons[m[1]] = true
		if !imported[m[1]] {
			t.Errorf("deploy/DEPENDENCIES.md has a reason for %s, which nothing imports", m[1])
		}
	}
	for module, marked := range indirect {
		if imported[module] == marked {
			t.Errorf("go.mod marks %s as indirect: %v, imported is %v: go mod tidy", module, marked, imported[module])
		}
		if imported[module] && !reasons[module] {
			t.Errorf("deploy/DEPENDENCIES.md gives no reason for %s", module)
		}
	}
}

// moduleOf returns the module of a package.
func moduleOf(modules map[string]bool, imported string) string {
	for module := range modules {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			return module
		}
	}
	return ""
}

// firstWord matches the first word of a comment.
var firstWord = regexp.MustCompile(`^\w+`)

func TestFunctionComments(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		for _, decl := range s.file.Decls {
			d, is := decl.(*ast.FuncDecl)
			if !is || d.Doc.Text() == "" || d.Name.Name == "init" || s.isTest() && strings.HasPrefix(d.Name.Name, "Example") {
				continue
			}
			if first := firstWord.FindString(d.Doc.Text()); first != d.Name.Name {
				t.Errorf("%s: the comment of %s begins with %q", s.at(d.Pos()), d.Name.Name, first)
			}
		}
	}
}
