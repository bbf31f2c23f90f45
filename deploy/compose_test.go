package deploy_test

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestComposeNetwork: the nodes of compose trust the network of the proxy, and no other one.
func TestComposeNetwork(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Environment struct {
			Trusted string `yaml:"PAYLEDGER_TRUSTED_PROXIES"`
		} `yaml:"x-payledger-environment"`
		Services map[string]struct{ Networks []string }
		Networks map[string]struct {
			IPAM struct{ Config []struct{ Subnet string } }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	of := file.Services["proxy"].Networks
	if len(of) != 1 {
		t.Fatalf("the proxy is in the networks %v", of)
	}
	if config := file.Networks[of[0]].IPAM.Config; len(config) != 1 || config[0].Subnet == "" || config[0].Subnet != file.Environment.Trusted {
		t.Errorf("the proxy is in %v, the nodes trust %q", config, file.Environment.Trusted)
	}
}
