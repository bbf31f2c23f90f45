package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

func jsonOf(node *yaml.Node) (string, error) {
	var b strings.Builder
	err := writeJSON(&b, node)
	return b.String(), err
}

func writeJSON(b *strings.Builder, node *yaml.Node) error {
	switch node.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i < len(node.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoted(node.Content[i].Value))
			b.WriteByte(':')
			if err := writeJSON(b, node.Content[i+1]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, element := range node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, element); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		switch node.Tag {
		case "!!int", "!!float", "!!bool":
			b.WriteString(node.Value)
		case "!!null":
			b.WriteString("null")
		default:
			b.WriteString(quoted(node.Value))
		}
	default:
		return fmt.Errorf("docs: line %d is no JSON", node.Line)
	}
	return nil
}

// quoted returns a text as JSON, with <, > and & as they are: the page escapes them.
func quoted(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

const short = 72

// pretty indents JSON: an object or array that is short stands in one line.
func pretty(text string) string {
	var b strings.Builder
	if err := prettyValue(&b, json.RawMessage(unescaped.Replace(text)), ""); err != nil {
		return text
	}
	return b.String()
}

func prettyValue(b *strings.Builder, raw json.RawMessage, indent string) error {
	trimmed := strings.TrimSpace(string(raw))
	line, err := oneLine(trimmed)
	if err != nil {
		return err
	}
	if len(indent)+len(line) <= short || trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		b.WriteString(line)
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(trimmed))
	decoder.UseNumber()
	if _, err := decoder.Token(); err != nil {
		return err
	}
	object, deeper := trimmed[0] == '{', indent+"  "
	b.WriteByte(trimmed[0])
	for first := true; decoder.More(); first = false {
		if !first {
			b.WriteByte(',')
		}
		b.WriteString("\n" + deeper)
		if object {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			b.WriteString(quoted(fmt.Sprint(name)) + ": ")
		}
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return err
		}
		if err := prettyValue(b, element, deeper); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + string(trimmed[len(trimmed)-1]))
	return nil
}

func oneLine(text string) (string, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", ""); err != nil {
		return "", err
	}
	return joinLines.Replace(b.String()), nil // no string has a line break in it
}

var joinLines = strings.NewReplacer(",\n", ", ", "\n", "")

// unescaped writes <, > and & as they are: the page escapes them. An escaped backslash before them
// stays.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
