//! The machine of the controller: its files, its clock, its processors, its disk.

use super::known as known_by_controller;
use crate::facts::Facts;
use crate::finding::{Diagnosis, Finding, Severity};

/// The part of its files that a process may have open before it is said.
const FILES_PART: f64 = 0.9;

/// Files that a controller of a small network needs.
const FILES_MIN: usize = 256;

/// A clock before this was never set: 2024-01-01.
const CLOCK_MIN_S: f64 = 1_704_067_200.0;

/// How far the clocks of controller and doctor may be apart, in seconds.
const CLOCKS_APART_S: f64 = 5.0;

/// The part of the time that may be stolen before it is said.
const STOLEN_PART: f64 = 0.10;

/// The part of the time that a quota may hold processes back.
const THROTTLED_PART: f64 = 0.10;

/// The part of the time that threads of the controller may wait for a processor.
const WAITED_PART: f64 = 0.5;

/// A frequency below this part of the highest is low, where the governor keeps it there.
const FREQUENCY_PART: f64 = 0.6;

/// Few descriptors are left.
pub const FILES: Diagnosis = Diagnosis {
    id: "open-files-nearly-out",
    severity: Severity::Warning,
    title: "the controller may open few more files, and each switch needs one",
    shown_by: "/proc/PID/fd and /proc/PID/limits of the controller",
    what_to_do: "Raise the limit and start the controller anew; in a unit of systemd with \
                 LimitNOFILE=65536.",
    command: "ulimit -n 65536 && aldis run",
};

/// The clock is wrong.
pub const CLOCK: Diagnosis = Diagnosis {
    id: "clock-wrong",
    severity: Severity::Warning,
    title: "the clock of this machine is wrong: certificates and log lines are misjudged",
    shown_by: "the year, or the clock of the controller, which is another one",
    what_to_do: "Set the clock, and have it kept right by NTP.",
    command: "timedatectl set-ntp true",
};

/// A neighbour takes the processor.
pub const STOLEN: Diagnosis = Diagnosis {
    id: "processor-stolen",
    severity: Severity::Warning,
    title: "other machines on this host take the processor: {percent} % of the time was stolen",
    shown_by: "/proc/stat, counted for a second",
    what_to_do: "Move this virtual machine to a host that is less busy, or give it processors of its \
                 own.",
    command: "top -b -n 1 | grep ' st'",
};

/// Other processes take the processor.
pub const BUSY: Diagnosis = Diagnosis {
    id: "processor-busy",
    severity: Severity::Warning,
    title: "other processes on this machine take the processor: the controller waits for it",
    shown_by: "the scheduler's account of the controller's threads, for a second",
    what_to_do: "Find what else runs; give the controller processors of its own, or a higher \
                 priority.",
    command: "top -b -n 1 | head -20",
};

/// A quota holds the processes back.
pub const THROTTLED: Diagnosis = Diagnosis {
    id: "processor-throttled",
    severity: Severity::Warning,
    title: "a quota holds the processes here back: {percent} % of the time",
    shown_by: "cpu.stat of the control group, counted for a second",
    what_to_do: "Raise the quota of the container or unit (CPUQuota=, --cpus).",
    command: "cat /sys/fs/cgroup/cpu.stat || cat /sys/fs/cgroup/cpu/cpu.stat",
};

/// The processor runs slowly.
pub const FREQUENCY: Diagnosis = Diagnosis {
    id: "processor-slow",
    severity: Severity::Hint,
    title: "the processor runs at {percent} % of its frequency, by the governor {governor}",
    shown_by: "/sys/devices/system/cpu/cpu0/cpufreq",
    what_to_do: "Let it run at full speed where delays matter.",
    command: "cpupower frequency-set -g performance",
};

/// The store cannot be written.
pub const STORE_READ_ONLY: Diagnosis = Diagnosis {
    id: "store-read-only",
    severity: Severity::Fault,
    title: "the store {about} cannot be written: what is set now is lost at the next start",
    shown_by: "the controller, which looks at the file system of its store",
    what_to_do: "Make the file system writable, and look in the kernel's log for why it is not.",
    command: "mount -o remount,rw PATH; dmesg | tail",
};

/// The store's file system is nearly full.
pub const STORE_FULL: Diagnosis = Diagnosis {
    id: "store-nearly-full",
    severity: Severity::Warning,
    title: "the file system of the store {about} is nearly full",
    shown_by: "the controller, which looks at the file system of its store",
    what_to_do: "Make room there.",
    command: "df -h {about}",
};

/// What the controller says of its disk.
pub fn known(facts: &Facts) -> Vec<Finding> {
    let all = [STORE_READ_ONLY, STORE_FULL];
    all.iter().filter_map(|diagnosis| known_by_controller(facts, diagnosis)).collect()
}

/// Whether it can take more switches.
pub fn files(facts: &Facts) -> Vec<Finding> {
    let Some(process) = &facts.machine.process else { return vec![] };
    let (files, most) = (process.files, process.files_max);
    if most >= FILES_MIN && (files as f64) < FILES_PART * most as f64 {
        return vec![];
    }
    let words = format!("process {} has {files} of {most} files open", process.pid);
    vec![FILES.found(&[], [words])]
}

/// Whether its clock can be right.
pub fn clock(facts: &Facts) -> Vec<Finding> {
    let unset = facts.machine.clock_s.filter(|clock_s| *clock_s < CLOCK_MIN_S);
    let unset = unset.map(|clock_s| format!("it is {clock_s:.0} s after 1970"));
    let apart = facts.controller.clock_ahead_s.filter(|ahead_s| ahead_s.abs() > CLOCKS_APART_S);
    let apart = apart.map(|ahead_s| match ahead_s > 0.0 {
        true => format!("the controller's clock is {ahead_s:.0} s ahead"),
        false => format!("the controller's clock is {:.0} s behind", -ahead_s),
    });
    let words: Vec<_> = unset.into_iter().chain(apart).collect();
    if words.is_empty() { vec![] } else { vec![CLOCK.found(&[], words)] }
}

/// Whether its processors are its own, and quick.
pub fn processors(facts: &Facts) -> Vec<Finding> {
    let machine = &facts.machine;
    let percent = |part: f64| format!("{:.0}", 100.0 * part);
    let above = |part: Option<f64>, most: f64| part.filter(|part| *part > most).map(percent);
    let mut all = Vec::new();
    if let Some(percent) = above(machine.stolen, STOLEN_PART) {
        all.push(STOLEN.found(&[("percent", &percent)], []));
    }
    if let Some(percent) = above(machine.waited, WAITED_PART) {
        let words = format!("its threads waited {percent} % of the time, all together");
        all.push(BUSY.found(&[], [words]));
    }
    if let Some(percent) = above(machine.throttled, THROTTLED_PART) {
        all.push(THROTTLED.found(&[("percent", &percent)], []));
    }
    let slow = machine.frequency.filter(|part| *part < FREQUENCY_PART).map(percent);
    let saves = machine.governor.as_ref().filter(|name| *name == "powersave");
    if let Some((percent, governor)) = slow.zip(saves) {
        all.push(FREQUENCY.found(&[("percent", &percent), ("governor", governor)], []));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ProcessFacts;

    fn ids(rule: fn(&Facts) -> Vec<Finding>, facts: &Facts) -> Vec<&'static str> {
        rule(facts).iter().map(|found| found.id).collect()
    }

    #[test]
    fn few_files_that_are_left_are_said() {
        let mut facts = Facts::default();
        for (open, most, is_found) in [(10, 1024, false), (1000, 1024, true), (10, 64, true)] {
            let process = ProcessFacts { files: open, files_max: most, ..Default::default() };
            facts.machine.process = Some(process);
            assert_eq!(!ids(files, &facts).is_empty(), is_found, "{open} of {most}");
        }
    }

    #[test]
    fn a_clock_that_was_not_set_or_differs_is_wrong() {
        let mut facts = Facts::default();
        facts.machine.clock_s = Some(1_800_000_000.0);
        facts.controller.clock_ahead_s = Some(-1.0);
        assert!(clock(&facts).is_empty());
        facts.controller.clock_ahead_s = Some(-60.0);
        assert_eq!(clock(&facts)[0].evidence, ["the controller's clock is 60 s behind"]);
        facts.machine.clock_s = Some(1000.0);
        assert_eq!(clock(&facts)[0].evidence.len(), 2);
    }

    #[test]
    fn processors_that_are_taken_or_slow_are_said() {
        let mut facts = Facts::default();
        facts.machine.frequency = Some(0.3);
        assert!(ids(processors, &facts).is_empty(), "an idle processor is slow at will");
        facts.machine.governor = Some("powersave".into());
        (facts.machine.stolen, facts.machine.throttled) = (Some(0.5), Some(0.25));
        facts.machine.waited = Some(1.5);
        let all = ["processor-stolen", "processor-busy", "processor-throttled", "processor-slow"];
        assert_eq!(ids(processors, &facts), all);
        assert!(processors(&facts)[0].title.contains("50 %"));
    }
}
