package forkbox

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func keptBox() Box {
	return Box{ID: "b1", Name: "try", Bookkeeping: Bookkeeping{
		Rebase: "r1", Syncing: &Syncing{Landing: "sync-b1", Fence: time.Unix(1, 0).UTC()}, Saving: "l1", Shelved: 2, Warned: true, Boot: "boot", Ran: true, Settles: "s1",
	}}
}

// TestBookkeepingIsNotAnswered: what the API answers of a box has none of it, and
// its record all of it.
func TestBookkeepingIsNotAnswered(t *testing.T) {
	box := keptBox()
	public, err := json.Marshal(box)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(box.Stored())
	if err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[Bookkeeping]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[Bookkeeping]().Field(i).Tag.Get("json"), ",")
		if strings.Contains(string(public), `"`+name+`"`) || !strings.Contains(string(stored), `"`+name+`":`) {
			t.Errorf("%s: answered %s, stored %s", name, public, stored)
		}
	}
	var back StoredBox
	if err := json.Unmarshal(stored, &back); err != nil || !reflect.DeepEqual(back.Restored(), box) {
		t.Errorf("%+v, %v", back.Restored(), err)
	}
}

// TestRecordsOfBoxesStayReadable: records were one flat object when boxes had
// their bookkeeping among the rest, and still are.
func TestRecordsOfBoxesStayReadable(t *testing.T) {
	const old = `{"id":"b1","name":"try","rebase":"r1","syncing":{"landing":"sync-b1","fence":"1970-01-01T00:00:01Z"},"layers":["l1"],` +
		`"saving":"l1","shelved":2,"warned":true,"boot":"boot","ran":true,"settles":"s1"}`
	want := keptBox()
	want.Layers = []string{"l1"}
	var stored StoredBox
	if err := json.Unmarshal([]byte(old), &stored); err != nil || !reflect.DeepEqual(stored.Restored(), want) {
		t.Errorf("%+v, %v", stored.Restored(), err)
	}
	var record, again BoxRecord
	if err := json.Unmarshal([]byte(`{"box":`+old+`,"snapshots":[{"id":"s1"}]}`), &record); err != nil || !reflect.DeepEqual(record.Box, want) || len(record.Snapshots) != 1 {
		t.Errorf("%+v, %v", record, err)
	}
	text, err := json.Marshal(record)
	if err != nil || json.Unmarshal(text, &again) != nil || !reflect.DeepEqual(again, record) {
		t.Errorf("%s, %v", text, err)
	}
}
