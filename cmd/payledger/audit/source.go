package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"payledger/cmd/payledger/options"
	"payledger/domain/exactjson"
	"payledger/httpapi/client"
)

// Source are the flags of a command that reads a server, running or stopped. The variable scope is
// the scope that the command needs.
type Source struct {
	URL    string `name:"url" help:"Running server." default:"http://127.0.0.1:8080"`
	APIKey string `name:"api-key" help:"API key with the scope ${scope}." placeholder:"KEY"`
	Data   string `help:"Data folder of a stopped server, instead of --url." type:"path"`
}

// FolderKey are the flags that open a stopped server's folder.
type FolderKey struct {
	MasterKey     string `help:"Key of the stream of secrets, with --data." placeholder:"HEX"`
	MasterKeyFile string `help:"File that holds the master key, with --data." type:"path"`
}

func (k FolderKey) of(folder string) options.Options {
	return options.Options{Data: folder, MasterKey: k.MasterKey, MasterKeyFile: k.MasterKeyFile}
}

// isFolder checks the arguments, and reports whether the command reads a stopped server's folder.
// --account is valid only with a folder.
func (s Source) isFolder(args options.Arguments, account string) (bool, error) {
	if err := args.Refused(); err != nil {
		return false, err
	}
	folder, err := args.ReadsFolder(s.Data)
	switch {
	case err != nil:
		return false, err
	case folder:
		return true, noFile(s.Data)
	case account != "":
		return false, options.Usage(errors.New("--account is of a folder (--data); at a server the API key is of one account"))
	case s.APIKey == "":
		return false, options.Usage(errors.New("--api-key (PAYLEDGER_API_KEY) is needed to read from a server; --data DIR reads a stopped one"))
	case !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		return false, options.Usage(fmt.Errorf("--url %q does not begin with http:// or https://", s.URL))
	default:
		return false, nil
	}
}

func noFile(data string) error {
	if info, err := os.Stat(data); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file: name the ledger's folder with --data", data)
	}
	return nil
}

// named returns a usage error for an empty payment id: a script's variable may be empty.
func named(payment string) error {
	if payment == "" {
		return options.Usage(errors.New("the payment's id is empty"))
	}
	return nil
}

// get reads a path of the server. An answer other than 2xx is a *client.Error.
func (s Source) get(ctx context.Context, path string, further http.Header) (*http.Response, error) {
	request := client.Request{Method: http.MethodGet, Path: path, Header: further}
	answer, err := (&client.Client{URL: s.URL, APIKey: s.APIKey}).Do(ctx, request)
	if _, answered := errors.AsType[*client.Error](err); err != nil && !answered {
		return nil, fmt.Errorf("%w; is the server running? --data reads a stopped one", err)
	}
	return answer, err
}

func (s Source) read(ctx context.Context, path string, use func(io.Reader) error) error {
	answer, err := s.get(ctx, path, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return use(answer.Body)
}

// whole reads an answer of one JSON value.
func whole(answer io.Reader, into any) error {
	text, err := io.ReadAll(answer)
	if err != nil {
		return err
	}
	return exactjson.Unmarshal(text, into)
}

// eachLine returns a function that decodes a line of a running service's answer, and calls emit
// with it.
func eachLine[T any](emit func(T) error) func(json.RawMessage) error {
	return func(text json.RawMessage) error {
		var line T
		if err := exactjson.Unmarshal(text, &line); err != nil {
			return err
		}
		return emit(line)
	}
}

// readList calls emit with each element of the answer {"data": […]} as it arrives. If the list
// breaks off, the error has advice.
func readList[T any](answer io.Reader, what, advice string, emit func(T) error) error {
	decoder := json.NewDecoder(answer)
	if err := expect(decoder, json.Delim('{'), "data", json.Delim('[')); err != nil {
		return fmt.Errorf("the server's answer is no list of %s: %w", what, err)
	}
	for decoder.More() {
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return fmt.Errorf("the server's answer broke off; %s: %w", advice, err)
		}
		var one T
		if err := exactjson.Unmarshal(text, &one); err != nil {
			return fmt.Errorf("the server's answer is no list of %s: %w", what, err)
		}
		if err := emit(one); err != nil {
			return err
		}
	}
	if err := expect(decoder, json.Delim(']'), json.Delim('}')); err != nil { // without a limit there is no next page
		return fmt.Errorf("the server's answer broke off; %s: %w", advice, err)
	}
	return nil
}

func expect(decoder *json.Decoder, tokens ...json.Token) error {
	for _, want := range tokens {
		if got, err := decoder.Token(); err != nil || got != want {
			return cmp.Or(err, fmt.Errorf("%v instead of %v", got, want))
		}
	}
	return nil
}
