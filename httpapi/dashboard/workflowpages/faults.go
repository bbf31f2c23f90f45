package workflowpages

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	noOverload = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '(.*)'$`)
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']+)'`)
	noField    = regexp.MustCompile(`^undefined field '([^']+)'$`)
	wordJoin   = regexp.MustCompile(`^(?:mismatched|extraneous) input '(?i:(and|or|not))'`)
	singleSign = regexp.MustCompile(`^token recognition error at: '([=&|])`)
	operator   = regexp.MustCompile(`^@?_?([^_\w]+|in|@in)_?$`)
)

var typeWords = map[string]string{
	"int": "a whole number", "uint": "a whole number", "double": "a number", "string": "a text", "bool": "true or false", "null_type": "null",
	"timestamp": "a time", "google.protobuf.Timestamp": "a time", "duration": "a duration", "dyn": "any value",
}

// instead has the text to write instead of a word or sign that a condition does not know.
var instead = map[string]string{
	"and": "&&", "or": "||", "not": "!", "=": "==", "&": "&&", "|": "||", "currency": "payment.currencyCode, and in a condition about a dispute dispute.currency",
	"amount": "payment.amount", "currencyCode": "payment.currencyCode", "status": "payment.status",
}

// plainFault returns a message about a condition in words. A message that is not known stays.
func plainFault(message, condition string) string {
	if m := noOverload.FindStringSubmatch(message); m != nil {
		return overload(m[1], m[2], condition)
	}
	if m := noField.FindStringSubmatch(message); m != nil {
		return "there is no field " + m[1] + " here. " + cmp.Or(remedy(m[1]), "The fields are those of GET /payments/{id}; the examples below name some.")
	}
	if m := undeclared.FindStringSubmatch(message); m != nil && instead[m[1]] != "" {
		return "there is no " + m[1] + " here. " + remedy(m[1])
	} else if m != nil {
		return fmt.Sprintf("there is no %s here. A condition reads payment and event, and for events of disputes also dispute. Put a text in quotes.", m[1])
	}
	switch {
	case strings.HasPrefix(message, "Syntax error") && strings.Contains(message, "'<EOF>'"):
		return "the condition ends too early: something is missing here, such as a value, a quote or a bracket."
	case strings.HasPrefix(message, "Syntax error"):
		_, rest, _ := strings.Cut(message, ": ")
		rest, _, _ = strings.Cut(rest, " expecting ")
		m := wordJoin.FindStringSubmatch(rest)
		if m == nil {
			m = singleSign.FindStringSubmatch(rest)
		}
		if m != nil {
			return "this cannot be read here: " + m[1] + ". " + remedy(strings.ToLower(m[1]))
		}
		return "this cannot be read here: " + rest + ". Join two conditions with && or ||, and put texts in quotes."
	}
	return message
}

// remedy returns the text to write instead; "" if it is not known.
func remedy(word string) string {
	if instead[word] == "" {
		return ""
	}
	return "Write " + instead[word] + "."
}

// overload explains types that do not fit together: "> does not fit between a whole number and true
// or false".
func overload(name, list, condition string) string {
	target, arguments, method := strings.Cut(list, ".(")
	if !method {
		target, arguments = "", list
	}
	var types []string
	for _, one := range strings.Split(strings.Trim(arguments, "()"), ", ") {
		types = append(types, typeWord(one))
	}
	m := operator.FindStringSubmatch(name)
	if m != nil && len(types) == 2 && slices.Contains(types, typeWords["int"]) && slices.Contains(types, typeWords["double"]) {
		return fmt.Sprintf("“%s” does not fit between a whole number and a number with decimals. %s", m[1], minorUnits(condition))
	}
	if m != nil && len(types) == 2 {
		return fmt.Sprintf("“%s” stands between %s and %s, and does not fit them. Compare values of one type, and join conditions with && or ||.", m[1], types[0], types[1])
	} else if m != nil {
		return fmt.Sprintf("“%s” does not fit %s.", strings.Trim(m[1], "_"), types[0])
	}
	if method {
		return fmt.Sprintf("%s of %s does not take %s.", name, typeWord(target), strings.Join(types, " and "))
	}
	return fmt.Sprintf("%s does not take %s.", strings.Trim(name, "_"), strings.Join(types, " and "))
}

func typeWord(name string) string {
	switch word := typeWords[name]; {
	case word != "":
		return word
	case strings.HasPrefix(name, "list("):
		return "a list"
	case strings.HasPrefix(name, "wrapper("):
		return typeWord(strings.TrimSuffix(strings.TrimPrefix(name, "wrapper("), ")"))
	}
	return "an object"
}
