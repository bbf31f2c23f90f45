package condition

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"

	"payledger/domain/workflow"
)

const (
	// maxCost limits the cost of an evaluation, in CEL's units: about one per value read or
	// compared. A usual condition costs tens of units, and more for each transaction that it reads.
	maxCost = 1_000
	// maxNodes and maxDepth limit an expression, so that it compiles quickly.
	maxNodes = 2_000
	maxDepth = 50
	// maxRegex limits the size of a compiled regular expression.
	maxRegex = 500
)

// Compiler compiles conditions. It is safe for concurrent use.
type Compiler struct {
	env       *cel.Env
	functions map[string]*decls.FunctionDecl // that CEL declares, by name
	schema    *schema
	personal  []string
}

// NewCompiler returns a compiler for conditions that read the JSON of the variables' Go types.
// personal lists the paths of personal data, such as "payment.customer".
func NewCompiler(variables map[string]reflect.Type, personal []string) (*Compiler, error) {
	s := &schema{byType: map[reflect.Type]*object{}, byName: map[string]*object{}}
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(provider{registry, s}), cel.ParserExpressionSizeLimit(workflow.MaxCondition),
		cel.ParserRecursionLimit(maxDepth), cel.ExpressionNodeLimit(maxNodes),
		cel.DefaultUTCTimeZone(true),
		cel.ClearMacros(), cel.Macros(macros...),
		cel.ASTValidators(restricted{}, cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals()),
	}
	for name, t := range variables {
		options = append(options, cel.Variable(name, s.typeOf(t)))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	return &Compiler{env: env, functions: env.Functions(), schema: s, personal: personal}, nil
}

// Fault is a compile error of a condition, with its place; line and column count from 1.
type Fault struct {
	Line, Column int
	Message      string
}

func (f Fault) String() string {
	return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Message)
}

const maxFaults = 10

// Condition is a compiled condition. It is safe for concurrent use.
type Condition struct {
	program  cel.Program
	compiler *Compiler
	guard    guard
}

// Compile compiles a condition, or returns its faults. It uses neither Env.Compile nor Issues.Err:
// they print every fault with the whole text and a line that points at its place, 137 MB for a
// hundred faults in 2,000 bytes (D22.14). An expression whose types are too much work to check is
// not checked.
func (c *Compiler) Compile(text string) (*Condition, []Fault) { return c.compile(text, true) }

// Stored compiles a condition that was accepted before. It is not weighed: a condition that an
// earlier build accepted goes on.
func (c *Compiler) Stored(text string) (*Condition, []Fault) { return c.compile(text, false) }

func (c *Compiler) compile(text string, weighed bool) (*Condition, []Fault) {
	ast, issues := c.env.Parse(text)
	if len(issues.Errors()) == 0 {
		if fault := c.heavy(ast); fault != nil && weighed {
			return nil, []Fault{*fault}
		}
		ast, issues = c.env.Check(ast)
	}
	if found := issues.Errors(); len(found) > 0 {
		var faults []Fault
		for _, e := range found[:min(len(found), maxFaults)] {
			faults = append(faults, Fault{max(1, e.Location.Line()), max(0, e.Location.Column()) + 1, cut(strings.ReplaceAll(e.Message, " (in container '')", ""))})
		}
		return nil, faults
	}
	if t := ast.OutputType(); t != cel.BoolType && t != cel.DynType {
		return nil, []Fault{{1, 1, "must be a boolean, not " + t.String()}}
	}
	program, err := c.env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		return nil, []Fault{{1, 1, cut(err.Error())}}
	}
	return &Condition{program: program, compiler: c, guard: guard{most: evaluateMost}}, nil
}

// Values holds the variables of one evaluation: structs, or pointers to structs, of the types in
// the compiler. A value may be a func() any that returns the struct: it is called when the
// condition reads the variable.
type Values map[string]any

// bound resolves variables for CEL.
type bound struct {
	values Values
	schema *schema
	log    *log
}

// ResolveName finds a variable.
func (b bound) ResolveName(name string) (any, bool) {
	v, there := b.values[name]
	if !there {
		return nil, false
	}
	if lazy, is := v.(func() any); is {
		v = lazy()
	}
	return b.schema.val(reflect.ValueOf(v), name, b.log), true
}

// Parent returns nil: there is no outer scope.
func (b bound) Parent() cel.Activation { return nil }

// Verdict is the result of an evaluation.
type Verdict struct {
	Holds    bool
	Personal bool // the condition read personal data
}

// Holds evaluates the condition. The error is one of the evaluation.
func (c *Condition) Holds(v Values) (Verdict, error) {
	o, l := c.guarded(v, true)
	return Verdict{o.holds, l.touched}, o.err
}

// Evaluate evaluates the condition, and returns the values that it read and its cost in CEL's
// units.
func (c *Condition) Evaluate(v Values) (verdict workflow.Evaluation, cost uint64) {
	o, l := c.guarded(v, false)
	verdict = workflow.Evaluation{Holds: o.holds, Seen: l.seen}
	switch {
	case o.err != nil && l.touched:
		verdict.Error = "cannot be evaluated; the reason is not kept, since personal data was read"
	case o.err != nil:
		verdict.Error = cut(o.err.Error())
	}
	return verdict, o.cost
}

// guarded evaluates with the guard's time limit. For an abandoned evaluation it returns an empty
// log.
func (c *Condition) guarded(v Values, quiet bool) (outcome, *log) {
	l := &log{personal: c.compiler.personal, quiet: quiet}
	o := c.guard.run(func() outcome { return c.evaluate(v, l) })
	if errors.Is(o.err, errTooLong) {
		return o, &log{}
	}
	return o, l
}

func (c *Condition) evaluate(v Values, l *log) outcome {
	out, details, err := c.program.Eval(bound{v, c.compiler.schema, l})
	o := outcome{cost: maxCost, err: err}
	if cost := details.ActualCost(); cost != nil {
		o.cost = *cost
	}
	if err != nil {
		return o
	}
	holds, is := out.(types.Bool)
	if !is {
		o.err = fmt.Errorf("is not a boolean, but %s", out.Type().TypeName())
	}
	o.holds = bool(holds)
	return o
}
