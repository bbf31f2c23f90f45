package deploy_test

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifest is the part of a manifest that tests read.
type manifest struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Ingress []struct {
			From []struct {
				PodSelector struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				} `yaml:"podSelector"`
			}
			Ports []struct{ Port any }
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	DNSConfig       struct{ Searches []string } `yaml:"dnsConfig"`
	SecurityContext map[string]any              `yaml:"securityContext"`
	Containers      []struct {
		Args []string
		Env  []struct {
			Name, Value string
			ValueFrom   any `yaml:"valueFrom"`
		}
		SecurityContext map[string]any `yaml:"securityContext"`
		VolumeMounts    []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
}

// manifests returns those of a file, by kind and name.
func manifests(t *testing.T, path string) map[string]manifest {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]manifest{}
	for documents := yaml.NewDecoder(file); ; {
		var m manifest
		if err := documents.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[m.Kind+" "+m.Metadata.Name] = m
	}
}

// TestInitJob: the namespace admits the pod of init (pod-security restricted), the NATS servers let
// it in, and it reaches them as a node does: by the same names, with the same settings. No service,
// budget or policy of the nodes counts it as one.
func TestInitJob(t *testing.T) {
	if text, err := os.ReadFile("kubernetes/init.yaml"); err != nil || strings.Contains(string(text), "credentials reset") {
		t.Error("credentials reset needs the data folder of a node, which init has not", err)
	}
	job, is := manifests(t, "kubernetes/init.yaml")["Job payledger-init"]
	if !is {
		t.Fatal("there is no job")
	}
	init, node := job.Spec.Template.Spec, manifests(t, "kubernetes/payledger.yaml")["StatefulSet payledger"].Spec.Template.Spec
	if len(init.Containers) != 1 || len(node.Containers) != 1 || init.Containers[0].Args[0] != "init" {
		t.Fatalf("the job has the containers %+v", init.Containers)
	}
	of, as := init.Containers[0], node.Containers[0]
	for name, restricted := range map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}} {
		if !reflect.DeepEqual(init.SecurityContext[name], restricted) {
			t.Errorf("%s of the pod is %v", name, init.SecurityContext[name])
		}
	}
	for name, restricted := range map[string]any{"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}} {
		if !reflect.DeepEqual(of.SecurityContext[name], restricted) {
			t.Errorf("%s of the container is %v", name, of.SecurityContext[name])
		}
	}
	if !reflect.DeepEqual(init.DNSConfig, node.DNSConfig) {
		t.Errorf("the names of the servers are searched in %v", init.DNSConfig)
	}
	for _, name := range []string{"PAYLEDGER_ENVIRONMENT", "PAYLEDGER_NATS_URL", "PAYLEDGER_NATS_CA", "PAYLEDGER_MASTER_KEY_FILE"} {
		var own, others any
		for _, e := range of.Env {
			if e.Name == name {
				own = e
			}
		}
		for _, e := range as.Env {
			if e.Name == name {
				others = e
			}
		}
		if own == nil || !reflect.DeepEqual(own, others) {
			t.Errorf("%s is %v, at a node %v", name, own, others)
		}
	}
	if len(of.VolumeMounts) != 2 || !reflect.DeepEqual(of.VolumeMounts, as.VolumeMounts[1:]) {
		t.Errorf("the job mounts %v, a node %v", of.VolumeMounts, as.VolumeMounts)
	}
	let := false
	for _, rule := range manifests(t, "kubernetes/nats.yaml")["NetworkPolicy nats"].Spec.Ingress {
		for _, from := range rule.From {
			let = let || reflect.DeepEqual(from.PodSelector.MatchLabels, job.Spec.Template.Metadata.Labels) && len(rule.Ports) == 1 && rule.Ports[0].Port == 4222
		}
	}
	if labels := job.Spec.Template.Metadata.Labels; !let || labels["app"] == "payledger" {
		t.Errorf("the NATS servers let the labels %v in: %t", labels, let)
	}
}
