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
	"slices"
	"strings"
	"time"

	"payledger/cmd/payledger/options"
)

// Source are the flags of a command that reads a running server, or the folder of a stopped one. The variable scope is the scope
// that the command needs.
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

// isFolder checks the arguments, and reports whether the command reads a stopped server's folder. --account is valid only with a folder.
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

// noFile returns an error if a file stands at the place of a ledger's folder.
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

// get reads a path of the server. headers are names and values.
func (s Source) get(ctx context.Context, path string, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.URL, "/")+path, nil)
	if err != nil {
		return nil, options.Usage(err)
	}
	request.Header.Set("X-Api-Key", s.APIKey)
	request.Header.Set("X-Api-Version", "2.4")
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; is the server running? --data reads a stopped one", err)
	}
	return answer, nil
}

// read calls use with the server's answer to a path. An answer other than 200 is the server's error.
func (s Source) read(ctx context.Context, path string, use func(io.Reader) error) error {
	answer, err := s.get(ctx, path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return use(answer.Body)
	}
	return refused(answer)
}

func refused(answer *http.Response) error {
	var body struct {
		Error serverError `json:"error"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return fmt.Errorf("the server answered %d and no JSON: %w", answer.StatusCode, err)
	}
	return body.Error
}

// readList calls emit with each element of the answer {"data": […]} as it arrives. If the list breaks off, the error has advice.
func readList[T any](answer io.Reader, what, advice string, emit func(T) error) error {
	decoder := json.NewDecoder(answer)
	if err := expect(decoder, json.Delim('{'), "data", json.Delim('[')); err != nil {
		return fmt.Errorf("the server's answer is no list of %s: %w", what, err)
	}
	for decoder.More() {
		var one T
		if err := decoder.Decode(&one); err != nil {
			return fmt.Errorf("the server's answer broke off; %s: %w", advice, err)
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

// flagTime parses a time as the API does (D1), or a day in UTC, to which it adds ofDay. For "" the result is the zero time.
func flagTime(name, text string, ofDay time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s %q is neither a day such as 2026-03-14 nor a time such as 2026-03-14T09:00:00Z", name, text)
	}
	return day.Add(ofDay), nil
}
