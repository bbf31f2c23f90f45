package validation

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/httpapi/nearmiss"
)

// kinds is a set of JSON types.
type kinds uint8

const (
	isObject kinds = 1 << iota
	isArray
	isText
	isWhole // a number without a fraction
	isNumber
	isBool
	isNull
)

// shape is a schema of openapi.yaml, prepared for the reader, at one place of one body.
type shape struct {
	schema *openapi3.Schema
	kinds  kinds
	enum   map[string]bool // of a text; nil: any
	// Of an object.
	fields   []field
	byName   map[string]int // the index in fields
	names    nearmiss.Names // of fields
	others   *shape         // of fields that fields lacks; nil: such fields are not known
	required uint64         // of fields, by index
	// Of an array.
	item *shape
	// Of an array, and of an object that has others. 0: no limit.
	least, most int
	// Of a text.
	minLength, maxLength int // in characters; maxLength 0: no limit
	pattern              *regexp.Regexp
	scan                 scan // for card numbers (D21)
	lines                bool // may hold tabs and line ends (D22.5)
	// Of a number.
	min, max *float64

	any        bool // any JSON, kept as text (D21)
	flat       bool // no rule looks into it: the tree does not have its values
	dropsNulls bool // metadata of a payment or session: null removes the key (D22.5)
	digits     bool // a value of metadata, whose numbers are searched for card numbers, too
}

type field struct {
	name string
	*shape
}

// mostFields is the greatest number of fields of a schema: the reader notes them in 64 bits.
const mostFields = 64

// anything takes any JSON, and reads all of it.
var anything = func() *shape {
	s := &shape{kinds: isObject | isArray | isText | isWhole | isNumber | isBool | isNull, schema: &openapi3.Schema{}}
	s.others, s.item = s, s
	return s
}()

// shapeOf prepares the schema of the place with this path in a body. Elements have the path of
// their array.
func shapeOf(s *openapi3.Schema, path string) *shape {
	if len(s.AllOf) == 1 { // a reference with a description of its own
		return shapeOf(s.AllOf[0].Value, path)
	}
	sh := &shape{
		schema: s, minLength: int(s.MinLength), maxLength: limit(s.MaxLength), min: s.Min, max: s.Max,
		scan: scans[path], lines: freeText(path),
		flat: strings.HasPrefix(path, pathOrder), dropsNulls: path == pathMetadata, digits: strings.HasSuffix(path, metadataValue),
	}
	for _, one := range append(slices.Clone(s.AnyOf), &openapi3.SchemaRef{Value: s}) {
		sh.kinds |= kindsOf(one.Value)
		if one.Value.Max != nil {
			sh.min, sh.max = one.Value.Min, one.Value.Max
		}
	}
	if sh.any = sh.kinds&(isObject|isText) == isObject|isText; sh.any {
		return sh
	}
	if len(s.Enum) > 0 {
		sh.enum = map[string]bool{}
		for _, v := range s.Enum {
			if text, is := v.(string); is {
				sh.enum[text] = true
			}
		}
	}
	if s.Pattern != "" {
		sh.pattern = regexp.MustCompile(s.Pattern)
	}
	if s.Items != nil {
		sh.item, sh.least, sh.most = shapeOf(s.Items.Value, path), int(s.MinItems), limit(s.MaxItems)
	}
	if other := s.AdditionalProperties.Schema; other != nil {
		sh.others, sh.most = shapeOf(other.Value, path+otherField), limit(s.MaxProps)
	}
	sh.ofFields(path)
	return sh
}

// otherField stands for the name of a field that a schema does not name, in the path of a shape.
const (
	otherField    = ".*"
	pathMetadata  = "$.metadata"
	pathOrder     = "$.order."
	metadataValue = ".metadata" + otherField
)

func (s *shape) ofFields(path string) {
	names := slices.Sorted(maps.Keys(s.schema.Properties))
	if len(names) > mostFields {
		panic("httpapi: the schema at " + path + " has too many fields")
	}
	s.byName, s.names = map[string]int{}, nearmiss.New(names)
	for i, name := range names {
		s.byName[name] = i
		s.fields = append(s.fields, field{name, shapeOf(s.schema.Properties[name].Value, path+"."+name)})
		if slices.Contains(s.schema.Required, name) {
			s.required |= 1 << i
		}
	}
}

func limit(n *uint64) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

func kindsOf(s *openapi3.Schema) (all kinds) {
	for name, kind := range map[string]kinds{
		openapi3.TypeObject: isObject, openapi3.TypeArray: isArray, openapi3.TypeString: isText,
		openapi3.TypeInteger: isWhole, openapi3.TypeNumber: isWhole | isNumber, openapi3.TypeBoolean: isBool,
	} {
		if s.Type.Is(name) {
			all |= kind
		}
	}
	if s.Nullable {
		all |= isNull
	}
	return all
}

// freeText reports whether the text at a path may have several lines (D22.5): descriptions,
// reasons, values of metadata, and the source of a condition.
func freeText(path string) bool {
	name := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
	return strings.HasSuffix(name, "description") || name == "reason" || name == "condition" || strings.HasSuffix(path, metadataValue) ||
		path == "$.body" // of an answer to a webhook
}
