package condition

import (
	"regexp/syntax"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"
)

// restricted refuses expressions that build growing values, or that have a call without a bound on
// its duration (doc.go).
type restricted struct{}

// Name returns the validator's name.
func (restricted) Name() string { return "payledger.restricted" }

// functions are the functions and operators that conditions may call. None builds a list, a map or
// another type.
var functions = []string{
	"size", "contains", "startsWith", "endsWith", "matches", "timestamp", "duration", "int", "uint", "double", "string", "bool",
	"getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds",
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional, operators.NotStrictlyFalse,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In,
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate, operators.Index,
}

// macros are CEL's macros with a boolean result, and an unavailable macro for each macro that
// builds a list.
var macros = []cel.Macro{
	cel.HasMacro, cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, parser.ExistsOneMacroNew, unavailable("map", 2), unavailable("map", 3), unavailable("filter", 2),
}

func unavailable(name string, arguments int) cel.Macro {
	return cel.ReceiverMacro(name, arguments, func(f cel.MacroExprFactory, target ast.Expr, _ []ast.Expr) (ast.Expr, *cel.Error) {
		return nil, f.NewError(target.ID(), name+" cannot be used in conditions; all, exists and exists_one can")
	})
}

// Validate checks every expression.
func (restricted) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, found *cel.Issues) {
	report := func(e ast.Expr, why string) { found.ReportErrorAtID(e.ID(), "%s", why) }
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			if why := refusedCall(a, e.AsCall()); why != "" {
				report(e, why)
			}
		case ast.ComprehensionKind:
			if of := e.AsComprehension().IterRange(); !isRead(of) && !isConstants(of) {
				report(of, "only lists and maps of the JSON, and lists of constants, can be gone through")
			}
		case ast.StructKind:
			report(e, "objects cannot be made")
		}
	}))
}

// refusedCall returns the reason why a call is not allowed, "" for an allowed call.
func refusedCall(a *ast.AST, c ast.CallExpr) string {
	args := c.Args()
	switch name := c.FunctionName(); {
	case !slices.Contains(functions, name):
		return name + " cannot be used in conditions"
	case name == operators.Equals || name == operators.NotEquals:
		if !plain(a.GetType(args[0].ID())) || !plain(a.GetType(args[1].ID())) {
			return "only single values, and lists of such, can be compared"
		}
	case name == operators.In:
		if of := a.GetType(args[1].ID()); !single(a.GetType(args[0].ID())) || !plain(of) && of.Kind() != types.MapKind {
			return "only single values can be looked for, in lists of such and in maps"
		}
	case name == operators.Add && a.GetType(args[0].ID()).Kind() == types.ListKind:
		return "lists cannot be added"
	case name == "matches":
		return refusedRegex(args[len(args)-1])
	}
	return ""
}

// refusedRegex returns the reason why a regular expression is not allowed. CEL reports malformed
// expressions.
func refusedRegex(e ast.Expr) string {
	pattern, is := e.AsLiteral().(types.String)
	if !is {
		return "the regular expression must be a constant"
	}
	parsed, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return ""
	}
	if program, err := syntax.Compile(parsed.Simplify()); err != nil || len(program.Inst) > maxRegex {
		return "the regular expression is too large"
	}
	return ""
}

// isRead reports whether an expression is a value of the JSON: a variable, or a field or element of
// it.
func isRead(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true // the variable of a comprehension is an element of such a value
	case ast.SelectKind:
		return isRead(e.AsSelect().Operand())
	case ast.CallKind:
		c := e.AsCall()
		return c.FunctionName() == operators.Index && isRead(c.Args()[0])
	default:
		return false
	}
}

func isConstants(e ast.Expr) bool {
	return e.Kind() == ast.ListKind && !slices.ContainsFunc(e.AsList().Elements(), func(element ast.Expr) bool { return element.Kind() != ast.LiteralKind })
}

// plain reports whether a type is a single value or a list of such. A value of unknown type is from
// the JSON, and counts as one.
func plain(t *types.Type) bool {
	return single(t) || t.Kind() == types.ListKind && single(t.Parameters()[0])
}

func single(t *types.Type) bool {
	switch t.Kind() {
	case types.ListKind, types.MapKind, types.StructKind, types.TypeKind, types.OpaqueKind:
		return false
	default:
		return true
	}
}
