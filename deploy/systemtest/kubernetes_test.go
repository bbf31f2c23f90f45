//go:build system

package systemtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKubernetes: the manifests decode strictly into the types of Kubernetes, and unknown fields do
// not.
func TestKubernetes(t *testing.T) {
	check, there := checker(t)
	if !there {
		return
	}
	decoded, err := check("", "kubernetes", "../kubernetes/nats.yaml", "../kubernetes/payledger.yaml", "../kubernetes/init.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for kind, n := range map[string]int{"apps/v1/StatefulSet": 2, "v1/Service": 2, "policy/v1/PodDisruptionBudget": 2, "networking.k8s.io/v1/NetworkPolicy": 2, "batch/v1/Job": 1, "v1/Namespace": 1, "v1/ServiceAccount": 1} {
		found := slices.Collect(func(yield func(string) bool) {
			for _, k := range decoded.Kinds {
				if k == kind && !yield(k) {
					return
				}
			}
		})
		if len(found) != n {
			t.Errorf("there are %d of %s, expected %d", len(found), kind, n)
		}
	}
	text, err := os.ReadFile("../kubernetes/payledger.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for old, wrong := range map[string]string{
		"readOnlyRootFilesystem": "readOnlyRootFileSystem", "  replicas: 2": "  replica: 2", "periodSeconds: 2": "periodSeconds: two", "kind: Service\n": "kind: Servant\n",
	} {
		file := filepath.Join(t.TempDir(), "wrong.yaml")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, wrong)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := check("", "kubernetes", file); err == nil {
			t.Errorf("%q passes", wrong)
		}
	}
}
