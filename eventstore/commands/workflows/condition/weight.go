package condition

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
)

// maxWeight limits the work of CEL's check of types, in copied type variables. ==, !=, in, ?:, an
// index and an empty list make one each, and every later look at a type copies all that are there:
// 330 comparisons took 16 MB for 2,000 bytes. Below the limit it is at most 4 MB, the parser
// included. Conditions of 2,000 bytes as people write them have a weight of up to 26,000.
const maxWeight = 32_000

const tooHeavy = "up to here there are too many comparisons, lists and calculations to be checked; compare with in [\"a\", \"b\"] instead of many ==, or write fewer of them"

// weight is the work of checking the types of an expression, counted in the checker's own order.
type weight struct {
	functions map[string]*decls.FunctionDecl
	variables int // type variables so far
	sum       int
	passed    ast.Expr // where the sum passed maxWeight; nil: nowhere
}

// heavy returns the fault of an expression that is too much work to check, nil for others.
func (c *Compiler) heavy(of *cel.Ast) *Fault {
	a := of.NativeRep()
	w := &weight{functions: c.functions}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(w.add))
	if w.passed == nil {
		return nil
	}
	location := a.SourceInfo().GetStartLocation(w.passed.ID())
	return &Fault{max(1, location.Line()), max(0, location.Column()) + 1, tooHeavy}
}

// look counts looks at types.
func (w *weight) look(n int) { w.sum += n * w.variables }

func (w *weight) add(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		w.call(e.AsCall())
	case ast.ListKind:
		n := e.AsList().Size()
		if w.look(n); n == 0 {
			w.variables++
		}
	case ast.MapKind:
		n := e.AsMap().Size()
		if w.look(2 * n); n == 0 {
			w.variables += 2
		}
	case ast.ComprehensionKind:
		w.look(4)
	case ast.SelectKind:
		w.look(1)
	default:
	}
	if w.passed == nil && w.sum > maxWeight {
		w.passed = e
	}
}

// call counts a call: the checker tries every overload of the function.
func (w *weight) call(c ast.CallExpr) {
	name := c.FunctionName()
	if name == operators.LogicalAnd || name == operators.LogicalOr {
		w.look(len(c.Args()))
		return
	}
	function, known := w.functions[name]
	if !known {
		return // a fault of the check
	}
	for _, overload := range function.OverloadDecls() {
		if overload.IsMemberFunction() == c.IsMemberFunction() {
			w.variables += len(overload.TypeParams())
			w.look(1)
		}
	}
}
