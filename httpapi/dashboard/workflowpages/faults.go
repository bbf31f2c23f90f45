package workflowpages

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	noOverload = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '(.*)'$`)
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']+)'`)
	operator   = regexp.MustCompile(`^@?_?([^_\w]+|in|@in)_?$`)
)

var typeWords = map[string]string{
	"int": "a whole number", "uint": "a whole number", "double": "a number", "string": "a text", "bool": "true or false", "null_type": "null",
	"timestamp": "a time", "google.protobuf.Timestamp": "a time", "duration": "a duration", "dyn": "any value",
}

// plainFault returns a message about a condition in words. A message that is not known stays.
func plainFault(message string) string {
	if m := noOverload.FindStringSubmatch(message); m != nil {
		return overload(m[1], m[2])
	}
	if m := undeclared.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("there is no %s here. A condition reads payment and event, and for events of disputes also dispute. Put a text in quotes.", m[1])
	}
	switch {
	case strings.HasPrefix(message, "Syntax error") && strings.Contains(message, "'<EOF>'"):
		return "the condition ends too early: something is missing here, such as a value, a quote or a bracket."
	case strings.HasPrefix(message, "Syntax error"):
		_, rest, _ := strings.Cut(message, ": ")
		rest, _, _ = strings.Cut(rest, " expecting ")
		return "this cannot be read here: " + rest + ". Join two conditions with && or ||, and put texts in quotes."
	}
	return message
}

// overload explains types that do not fit together: "> does not fit between a whole number and true
// or false".
func overload(name, list string) string {
	target, arguments, method := strings.Cut(list, ".(")
	if !method {
		target, arguments = "", list
	}
	var types []string
	for _, one := range strings.Split(strings.Trim(arguments, "()"), ", ") {
		types = append(types, typeWord(one))
	}
	if m := operator.FindStringSubmatch(name); m != nil && len(types) == 2 {
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
