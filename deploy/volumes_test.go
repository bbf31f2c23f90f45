package deploy_test

import (
	"errors"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDataFolder: the image and the manifests put the data folder below the root of its volume. The
// root of an emptyDir, of a local-path volume or of a tmpfs has the mode 0777, which production
// refuses for a data folder, and a container's user cannot change it.
func TestDataFolder(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	volume, data := regexp.MustCompile(`(?m)^VOLUME \["(.*)"\]$`).FindStringSubmatch(string(text)), regexp.MustCompile(`(?m)^ENV .*\bPAYLEDGER_DATA=(\S+)`).FindStringSubmatch(string(text))
	if volume == nil || data == nil || path.Dir(data[1]) != volume[1] {
		t.Errorf("the image has the data folder %q and the volume %q", data, volume)
	}
	file, err := os.Open("kubernetes/payledger.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	containers := 0
	for documents := yaml.NewDecoder(file); ; {
		var manifest struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							Env          []struct{ Name, Value string }
							VolumeMounts []struct {
								MountPath string `yaml:"mountPath"`
							} `yaml:"volumeMounts"`
						}
					}
				}
			}
		}
		if err := documents.Decode(&manifest); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			continue // of another kind
		}
		for _, c := range manifest.Spec.Template.Spec.Containers {
			containers++
			folder, below := "", false
			for _, e := range c.Env {
				if e.Name == "PAYLEDGER_DATA" {
					folder = e.Value
				}
			}
			for _, m := range c.VolumeMounts {
				below = below || strings.HasPrefix(folder, m.MountPath+"/")
			}
			if !below {
				t.Errorf("the data folder %q is not below the root of a volume: %v", folder, c.VolumeMounts)
			}
		}
	}
	if containers != 1 {
		t.Errorf("%d containers", containers)
	}
}
