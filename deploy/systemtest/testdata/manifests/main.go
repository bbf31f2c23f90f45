// Command manifests checks files of deploy with the libraries of the programs that read them. It is a module of its own, because
// payledger needs none of these libraries.
//
//	manifests rules FILE         prints {"alerts": […], "metrics": […]} of Prometheus rules
//	manifests metrics            reads PromQL expressions, one a line, and prints {"metrics": […]}
//	manifests compose FILE       prints {"kinds": […]} of a compose file, the names of its services
//	manifests kubernetes FILE…   decodes manifests strictly and prints {"kinds": […]}
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

type result struct {
	Alerts  []string `json:"alerts,omitempty"`
	Metrics []string `json:"metrics,omitempty"`
	Kinds   []string `json:"kinds,omitempty"`
}

func main() {
	r, err := check(os.Args[1], os.Args[2:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(what string, files []string) (r result, err error) {
	switch what {
	case "rules":
		return rules(files[0])
	case "metrics":
		for lines := bufio.NewScanner(os.Stdin); lines.Scan() && err == nil; {
			err = r.read(lines.Text())
		}
		return r, err
	case "compose":
		return r, r.compose(files[0])
	case "kubernetes":
		for _, file := range files {
			if err := r.decode(file); err != nil {
				return r, fmt.Errorf("%s: %w", file, err)
			}
		}
		return r, nil
	default:
		return r, errors.New("rules, metrics, compose or kubernetes")
	}
}

// utf8Names is model.UTF8Validation of prometheus/common, which is a module of payledger in another version.
const utf8Names = 2

func rules(file string) (r result, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	groups, errs := rulefmt.Parse(text, false, utf8Names, parser.NewParser(parser.Options{}), slog.Default())
	if err := errors.Join(errs...); err != nil {
		return r, err
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			r.Alerts = append(r.Alerts, rule.Alert)
			if err := r.read(rule.Expr); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// read adds the metrics of an expression.
func (r *result) read(text string) error {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if selector, ok := n.(*parser.VectorSelector); ok {
			r.Metrics = append(r.Metrics, selector.Name)
		}
		return nil
	})
	return nil
}

// compose loads a compose file as docker compose does, with the variables of the environment.
func (r *result) compose(file string) error {
	environment := types.NewMapping(os.Environ())
	project, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		ConfigFiles: []types.ConfigFile{{Filename: file}}, Environment: environment, WorkingDir: filepath.Dir(file),
	}, loader.WithProfiles([]string{"*"}))
	if err != nil {
		return err
	}
	for name, service := range project.Services {
		for _, v := range service.Volumes {
			if v.Type == types.VolumeTypeVolume && project.Volumes[v.Source].Name == "" {
				return fmt.Errorf("%s: there is no volume %s", name, v.Source)
			}
		}
		r.Kinds = append(r.Kinds, name)
	}
	return nil
}

// kinds are the kinds of manifests that deploy has.
var kinds = map[string]func() any{
	"v1/Namespace":                       func() any { return &core.Namespace{} },
	"v1/Service":                         func() any { return &core.Service{} },
	"v1/ServiceAccount":                  func() any { return &core.ServiceAccount{} },
	"v1/ConfigMap":                       func() any { return &core.ConfigMap{} },
	"apps/v1/StatefulSet":                func() any { return &apps.StatefulSet{} },
	"batch/v1/Job":                       func() any { return &batch.Job{} },
	"apps/v1/Deployment":                 func() any { return &apps.Deployment{} },
	"policy/v1/PodDisruptionBudget":      func() any { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1/NetworkPolicy": func() any { return &networking.NetworkPolicy{} },
}

// decode decodes every manifest of a file. Unknown and repeated fields are errors.
func (r *result) decode(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			return err
		}
		kind := head.APIVersion + "/" + head.Kind
		empty := kinds[kind]
		if empty == nil {
			return fmt.Errorf("the kind %s is not known", kind)
		}
		text, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		wrong, err := kjson.UnmarshalStrict(text, empty()) // as the server decodes: letters in another case are another field
		if err := errors.Join(append(wrong, err)...); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		r.Kinds = append(r.Kinds, kind)
	}
	return nil
}
