package docs

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sample is a call's example as a program of a language.
type sample struct {
	ID, Label string
	Language  string // of the fence
	Text      string
}

// samples returns the example of a call in each language. All are made from the same example.
func (c *call) samples(base string) []sample {
	address := strings.TrimSuffix(base, "/") + c.target()
	return []sample{
		{"curl", "curl", "sh", c.Request}, {"go", "Go", "go", c.inGo(address)}, {"node", "Node", "js", c.inNode(address)}, {"python", "Python", "python", c.inPython(address)},
	}
}

// variable matches a variable of the shell in an example.
var variable = regexp.MustCompile(`\$([A-Z_]+)`)

// expression returns a text as an expression of a language. read is the format of the expression
// that reads an environment variable, plus the operator between texts.
func expression(text, read, plus string) string {
	var terms []string
	at := 0
	for _, m := range variable.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > at {
			terms = append(terms, quoted(text[at:m[0]]))
		}
		terms = append(terms, fmt.Sprintf(read, text[m[2]:m[3]]))
		at = m[1]
	}
	if at < len(text) || len(terms) == 0 {
		terms = append(terms, quoted(text[at:]))
	}
	return strings.Join(terms, plus)
}

// headers returns the example's headers, that of the body included.
func (c *call) headers() []pair {
	if c.Example.Body == "" {
		return c.Example.Headers
	}
	return append(slices.Clone(c.Example.Headers), pair{"Content-Type", "application/json"})
}

// verbatim reports whether the body must have the bytes of the example: its signature counts.
func (c *call) verbatim() bool { return c.Has("SIGNATURE") }

// streamed reports whether the answer has no end.
func (c *call) streamed() bool { return c.AnswerType == "text/event-stream" }

func (c *call) inGo(address string) string {
	const read = `os.Getenv("%s")`
	imports, body := []string{"fmt", "io", "log", "net/http", "os"}, "nil"
	var b strings.Builder
	if c.Example.Body != "" {
		imports, body = append(imports, "strings"), "body"
		text := pretty(c.Example.Body)
		literal := "`" + text + "`"
		if strings.Contains(text, "`") {
			literal = strconv.Quote(text)
		}
		fmt.Fprintf(&b, "\tbody := strings.NewReader(%s)\n", literal)
	}
	fmt.Fprintf(&b, "\trequest, err := http.NewRequest(%q, %s, %s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", c.Method, expression(address, read, "+"), body)
	for _, h := range c.headers() {
		fmt.Fprintf(&b, "\trequest.Header.Set(%q, %s)\n", h.Name, expression(h.Value, read, "+"))
	}
	b.WriteString(`	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.StatusCode)
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
`)
	return "package main\n\nimport (\n\t\"" + strings.Join(imports, "\"\n\t\"") + "\"\n)\n\nfunc main() {\n" + b.String()
}

func (c *call) inNode(address string) string {
	const read = "process.env.%s"
	var options strings.Builder
	if c.Method != http.MethodGet {
		fmt.Fprintf(&options, "  method: %q,\n", c.Method)
	}
	if len(c.headers()) > 0 {
		options.WriteString("  headers: {\n")
		for _, h := range c.headers() {
			fmt.Fprintf(&options, "    %q: %s,\n", h.Name, expression(h.Value, read, " + "))
		}
		options.WriteString("  },\n")
	}
	switch text := pretty(c.Example.Body); {
	case c.Example.Body == "":
	case c.verbatim():
		fmt.Fprintf(&options, "  body: %s,\n", quoted(text))
	default:
		fmt.Fprintf(&options, "  body: JSON.stringify(%s),\n", indented(text, "  "))
	}
	request := "fetch(" + expression(address, read, " + ") + ")"
	if options.Len() > 0 {
		request = "fetch(" + expression(address, read, " + ") + ", {\n" + options.String() + "})"
	}
	if c.streamed() {
		return "const answer = await " + request + ";\nconsole.log(answer.status);\nfor await (const part of answer.body) process.stdout.write(part);"
	}
	return "const answer = await " + request + ";\nconsole.log(answer.status);\nconsole.log(await answer.text());"
}

func (c *call) inPython(address string) string {
	const read = `os.environ["%s"]`
	imports := "import os\nimport urllib.request\n"
	var b strings.Builder
	fmt.Fprintf(&b, "request = urllib.request.Request(\n    %s,\n", expression(address, read, " + "))
	if c.Method != http.MethodGet {
		fmt.Fprintf(&b, "    method=%q,\n", c.Method)
	}
	if len(c.headers()) > 0 {
		b.WriteString("    headers={\n")
		for _, h := range c.headers() {
			fmt.Fprintf(&b, "        %q: %s,\n", h.Name, expression(h.Value, read, " + "))
		}
		b.WriteString("    },\n")
	}
	switch text := pretty(c.Example.Body); {
	case c.Example.Body == "":
	case c.verbatim():
		fmt.Fprintf(&b, "    data=%s.encode(),\n", quoted(text))
	default:
		imports = "import json\n" + imports
		fmt.Fprintf(&b, "    data=json.dumps(%s).encode(),\n", indented(inPython(text), "    "))
	}
	b.WriteString(")\nwith urllib.request.urlopen(request) as answer:\n    print(answer.status)\n")
	if c.streamed() {
		b.WriteString("    for line in answer:\n        print(line.decode(), end=\"\", flush=True)")
	} else {
		b.WriteString("    print(answer.read().decode())")
	}
	if !strings.Contains(b.String(), "os.environ") {
		imports = strings.Replace(imports, "import os\n", "", 1)
	}
	return imports + "\n" + b.String()
}

// indented indents the lines after the first.
func indented(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

// jsonWord matches a string of JSON, or a word outside of strings.
var jsonWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|true|false|null`)

var pythonWords = map[string]string{"true": "True", "false": "False", "null": "None"}

// inPython returns JSON as an expression of Python.
func inPython(text string) string {
	return jsonWord.ReplaceAllStringFunc(text, func(word string) string {
		if own, is := pythonWords[word]; is {
			return own
		}
		return word
	})
}
