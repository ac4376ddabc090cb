package hostmounts

import (
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

func TestRootsOfContainersAreTold(t *testing.T) {
	for line, want := range map[string]bool{
		"9 1 0:50 / /var/lib/docker/overlay2/a1/merged rw - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/var/lib/docker/overlay2/a1/diff,workdir=/var/lib/docker/overlay2/a1/work": true,
		"9 1 0:50 / /var/lib/containers/storage/overlay/a1/merged rw - overlay overlay rw,lowerdir=/l/A,upperdir=/var/lib/containers/storage/overlay/a1/diff,workdir=/w":              true,
		"9 1 0:50 / /home/me/merged rw - overlay overlay rw,lowerdir=/l/A,upperdir=/home/me/changes,workdir=/w":                                                                       false,
		"9 1 0:50 / / rw - overlay overlay rw,lowerdir=/l/A,upperdir=/var/lib/docker/overlay2/a1/diff,workdir=/w":                                                                     false,
		"9 1 254:0 / /data/merged rw - ext4 /dev/vdb rw": false,
	} {
		infos, err := mountinfo.GetMountsFromReader(strings.NewReader(line+"\n"), nil)
		if err != nil || len(infos) != 1 {
			t.Fatal(infos, err)
		}
		if got := isContainer(infos[0]); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
