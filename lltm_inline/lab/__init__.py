"""Labs: exercises that an instructor hands out, collects and grades.

lab:         what a lab is: its exercises, criteria and limits, read from `lab.toml`
cells:       notebooks as data: cells by their `grade_id`, and what stands in them
making:      the folder of a lab from an op; `student/`, `lab.zip` and `gradescope.zip` from the folder
submissions: what students handed in becomes answers
grading:     each different answer is judged once, on all cores or a cluster
selftesting: a lab is tried on what must pass and what must fall before it grades anybody
grades:      what a grade is: marks with their reasons
reporting:   CSV files, pages, Gradescope's results.json
command:     `python -m lltm_inline lab`

How one text is graded, the trusted part first:

judge:       draws the inputs, runs the reference, compares, and gives the marks
timing:      how many times as fast as the baseline, timed from outside
builder:     has a text compiled behind the locks, and looks at the library
runner:      a kernel behind the locks, as the judge calls it
locked:      the judge's side of such a process: limits, answers, and how it ended
symbols:     what a text may not say, and what a library may not call
inside:      what runs behind the locks: builder, runner, and the server that forks them
sandbox:     the locks: namespaces, Landlock, seccomp, limits
doctor:      whether they hold on this machine: eleven ways out, each tried
"""

from __future__ import annotations

from .doctor import Doctor, doctor
from .grades import Grade, Grades, Mark
from .grading import grade
from .lab import Exercise, Lab, Question, read_lab
from .making import make, new
from .reporting import report
from .selftesting import Selftest, selftest
from .submissions import Submissions, collect

__all__ = [
    "Doctor", "Exercise", "Grade", "Grades", "Lab", "Mark", "Question", "Selftest", "Submissions", "collect", "doctor", "grade",
    "make", "new", "read_lab", "report", "selftest",
]  # fmt: skip
