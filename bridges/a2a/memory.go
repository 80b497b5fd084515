package a2a

import (
	"bytes"
	"context"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
)

const mostLines = 1 << 16 // of a file until it is written anew, if most of them are of tasks that are over

// A memory is the file that Config.Seen names. Each line says what was told of a task after it is
// in the producer's log: a crash in between tells that once more and loses nothing. What of an
// artifact is told is remembered when that part ends, and a question is not, so that it is asked
// again. The first line says whose tasks they are. A nil memory remembers nothing.
type memory struct {
	mu    sync.Mutex
	file  *os.File
	agent string
	tasks map[string]*remembered
	lines int
}

// A remembered task is one that is followed, with what was told of it.
type remembered struct {
	statuses  map[string]bool
	artifacts map[string]toldPart
	now       string // the state that was told last
}

type toldPart struct {
	Size int    `json:"size"`
	Sum  []byte `json:"sum"` // the state of the hash of the text
}

// A memoryLine is a line of the file. A task begins to be followed with its first.
type memoryLine struct {
	Agent    string    `json:"agent,omitzero"`
	Task     string    `json:"task,omitzero"`
	State    string    `json:"state,omitzero"`
	Status   string    `json:"status,omitzero"`
	Artifact string    `json:"artifact,omitzero"`
	Told     *toldPart `json:"told,omitzero"`
	Over     bool      `json:"over,omitzero"`
}

// openMemory opens the memory, in the file name, of the agent at an address, and drops what is
// over; without a name it is nil. A file of another agent, or of something else, is an error.
func openMemory(name, agent string) (*memory, error) {
	if name == "" {
		return nil, nil
	}
	file, all, err := bridge.OpenKept(name)
	if err != nil {
		return nil, err
	}
	m := &memory{file: file, agent: agent, tasks: map[string]*remembered{}}
	if err = m.readLines(all); err == nil {
		err = m.rewriteFile()
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return m, nil
}

// readLines takes over the lines of a file. What follows the last end of a line was never written
// whole. The error is errNotOurs, or names the other agent that the file is of.
func (m *memory) readLines(all []byte) error {
	whole := all[:bytes.LastIndexByte(all, '\n')+1]
	if len(all) > 0 && len(whole) == 0 {
		return errNotOurs
	}
	first := true
	for text := range bytes.Lines(whole) {
		var line memoryLine
		if bridge.Decode(text, &line) != nil || first && line.Agent == "" {
			return errNotOurs
		}
		if first && line.Agent != m.agent {
			return fmt.Errorf("it is of the agent at %s; give each agent a file of its own",
				toolwords.Label(line.Agent))
		}
		first = false
		m.applyLine(line)
	}
	return nil
}

var errNotOurs = errors.New("it is no file of followed tasks")

// applyLine updates the remembered tasks with one line of the file. A line without a task changes
// nothing; one that says that a task is over forgets it.
func (m *memory) applyLine(line memoryLine) {
	if line.Task == "" {
		return
	}
	if line.Over {
		delete(m.tasks, line.Task)
		return
	}
	task := m.tasks[line.Task]
	if task == nil {
		task = &remembered{statuses: map[string]bool{}, artifacts: map[string]toldPart{}}
		m.tasks[line.Task] = task
	}
	if line.State != "" {
		task.now = line.State
	}
	if line.Status != "" && len(task.statuses) < maxStatuses {
		task.statuses[line.Status] = true
	}
	if line.Told != nil {
		task.artifacts[line.Artifact] = *line.Told
	}
}

// rewriteFile writes what is remembered, and nothing else. The caller holds m.mu, or is openMemory.
// The error is that of writing.
func (m *memory) rewriteFile() error {
	lines := []memoryLine{{Agent: m.agent}}
	for _, id := range slices.Sorted(maps.Keys(m.tasks)) {
		task := m.tasks[id]
		lines = append(lines, memoryLine{Task: id, State: task.now})
		for _, status := range slices.Sorted(maps.Keys(task.statuses)) {
			lines = append(lines, memoryLine{Task: id, Status: status})
		}
		for _, artifact := range slices.Sorted(maps.Keys(task.artifacts)) {
			toldText := task.artifacts[artifact]
			lines = append(lines, memoryLine{Task: id, Artifact: artifact, Told: &toldText})
		}
	}
	var all bytes.Buffer
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		all.Write(append(text, '\n'))
	}
	m.lines = len(lines)
	return bridge.ReplaceContent(m.file, all.Bytes())
}

// recordLine applies a line to the tasks and appends it to the file, which is rewritten where most
// of its lines are out of date. The error is the file's: the line then counts until the program
// ends. It takes m.mu.
func (m *memory) recordLine(line memoryLine) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applyLine(line)
	if m.lines++; m.lines > mostLines && m.lines > 4*m.countEntries() {
		return m.rewriteFile()
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = m.file.Write(append(text, '\n'))
	}
	return err
}

// countEntries returns the number of lines that the file would have if it were rewritten.
func (m *memory) countEntries() (n int) {
	for _, task := range m.tasks {
		n += 1 + len(task.statuses) + len(task.artifacts)
	}
	return n
}

// listTasks returns the ids of the tasks that are remembered, sorted; a nil memory has none. It
// takes m.mu.
func (m *memory) listTasks() []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.tasks))
}

// restoreTask has a task announcer go on where the remembered one stopped, so that nothing is
// announced twice. A nil memory restores nothing.
func (m *memory) restoreTask(id string, t *taskAnnouncer) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	task := m.tasks[id]
	if task == nil {
		return
	}
	t.now, t.statuses = task.now, maps.Clone(task.statuses)
	for artifact, toldText := range task.artifacts {
		sp := newSpoken()
		if sp.sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(toldText.Sum) == nil && toldText.Size >= 0 {
			sp.size = toldText.Size
			t.artifacts[artifact] = sp
		}
	}
}

// Resume follows the tasks again that an Agent with the same Config.Seen followed when its program
// ended or was killed. What was announced of them is not announced again. With an error, tasks are
// those that are followed.
func (a *Agent) Resume(ctx context.Context, p *producer.Producer) (tasks []*Task, err error) {
	for _, id := range a.memory.listTasks() {
		task, err := a.Follow(ctx, p, id)
		if err != nil {
			return tasks, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// Close closes the file that Config.Seen names. It is called once no task is followed any more.
func (a *Agent) Close() error {
	if a.memory == nil {
		return nil
	}
	return a.memory.file.Close()
}
