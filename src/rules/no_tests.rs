//! Whether a test runner's output says that no test ran.

#![allow(dead_code)] // As of the audit, which the run uses.

use regex::Regex;

/// A runner: its name, what it says when nothing ran, and what it says when something did. It may say both, once for
/// each part of a project: then something ran. `^` and `$` are the ends of lines.
const RUNNERS: [(&str, &str, &str); 20] = [
    ("cargo test", r"^running 0 tests\s*$", r"^running [1-9]\d* tests?\s*$"),
    ("cargo test, all ignored", r"^test result: ok\. 0 passed; 0 failed; [1-9]\d* ignored", r"^test result: \w+\. [1-9]\d* passed"),
    ("cargo nextest", r"^\s*Summary \[.*\]\s+0 tests run|^error: no tests to run", r"^\s*Summary \[.*\]\s+[1-9]\d* tests? run"),
    (
        "pytest",
        r"^collected 0 items|^=*\s*no tests ran in |/ 0 selected$|^=*\s*[1-9]\d* skipped(, \d+ warnings?)? in ",
        r"\b[1-9]\d* (passed|failed|xfailed|xpassed)\b",
    ),
    ("unittest", r"^Ran 0 tests in |^NO TESTS RAN", r"^Ran [1-9]\d* tests? in "),
    ("jest or vitest", r"^\s*No (tests|test files|test suite) found", r"^\s*Tests:?\s.*\b[1-9]\d* (passed|failed)"),
    ("mocha", r"^\s*0 passing\b", r"^\s*[1-9]\d* passing\b"),
    ("node --test", r"^[#ℹ] tests 0\s*$", r"^[#ℹ] tests [1-9]\d*\s*$"),
    ("deno test", r"^ok \| 0 passed \| 0 failed", r"^\w+ \| [1-9]\d* passed"),
    ("bun test", r"^\s*0 pass\s*$", r"^\s*[1-9]\d* pass\s*$"),
    ("TAP", r"^1\.\.0\b", r"^\s*(not )?ok [1-9]\d*\b"),
    (
        "go test",
        r"\[no test files\]|\[no tests to run\]|^testing: warning: no tests to run",
        r"^ok\s+\S+\s+(\(cached\)|[\d.]+m?s)[^\[\n]*$|^\s*--- PASS: ",
    ),
    ("ctest", r"No tests were found", r"tests passed, \d+ tests failed out of [1-9]"),
    ("GoogleTest", r"^\[=+\] Running 0 tests from", r"^\[=+\] Running [1-9]\d* tests? from"),
    ("rspec", r"^0 examples, 0 failures", r"^[1-9]\d* examples?, "),
    ("minitest", r"^0 (runs|tests), 0 assertions", r"^[1-9]\d* (runs|tests), "),
    ("PHPUnit", r"^No tests executed!", r"^OK \([1-9]|^Tests: [1-9]"),
    ("Maven", r"Tests run: 0,|No tests to run\.", r"Tests run: [1-9]"),
    ("Gradle", r"^> Task :(\S+:)?test NO-SOURCE", r"^> Task :(\S+:)?test( UP-TO-DATE| FROM-CACHE)?\s*$"),
    ("swift test", r"Executed 0 tests", r"Executed [1-9]\d* tests?|Test run with [1-9]\d* tests?"),
];

/// The runner that says so. `None`: none does, or there was no runner.
pub(super) fn of(output: &str) -> Option<&'static str> {
    let plain = found(r"\x1b\[[0-9;:?]*[ -/]*[@-~]").map_or(output.into(), |colours| colours.replace_all(output, ""));
    let says = |pattern: &str| found(pattern).is_some_and(|pattern| pattern.is_match(&plain));
    RUNNERS.into_iter().find(|(_, nothing, something)| says(nothing) && !says(something)).map(|(name, ..)| name)
}

/// The table's patterns are all valid: a test reads each.
fn found(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("(?m){pattern}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_read() {
        for (name, nothing, something) in RUNNERS {
            assert!(found(nothing).is_some() && found(something).is_some(), "{name}");
        }
    }

    #[test]
    fn what_runners_say() {
        let none = [
            ("cargo test", "     Running unittests\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n"),
            ("cargo test", "running 0 tests\n\nrunning 0 tests\r\n"),
            ("cargo test, all ignored", "running 2 tests\ntest a ... ignored\n\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0 measured\n"),
            ("cargo nextest", "     Summary [   0.001s] 0 tests run: 0 passed, 12 skipped\n"),
            ("pytest", "collected 0 items\n\n=== no tests ran in 0.01s ===\n"),
            ("pytest", "collected 3 items / 3 deselected / 0 selected\n"),
            ("pytest", "collected 2 items\n\ntests/test_a.py ss\n\n======= 2 skipped in 0.01s =======\n"),
            ("pytest", "\u{1b}[33mno tests ran\u{1b}[0m in 0.00s\n"),
            ("unittest", "\n------\nRan 0 tests in 0.000s\n\nOK\n"),
            ("jest or vitest", "No tests found, exiting with code 0\n"),
            ("jest or vitest", "No test files found, exiting with code 0\n"),
            ("mocha", "\n\n  0 passing (1ms)\n\n"),
            ("mocha", "\u{1b}[92m \u{1b}[0m\u{1b}[32m 0 passing\u{1b}[0m\n"),
            ("node --test", "TAP version 13\n# tests 0\n# suites 0\n# pass 0\n"),
            ("node --test", "ℹ tests 0\nℹ pass 0\n"),
            ("bun test", " 0 pass\n 0 fail\n"),
            ("deno test", "ok | 0 passed | 0 failed (1ms)\n"),
            ("TAP", "1..0 # skipped\n"),
            ("go test", "?   \texample.com/a\t[no test files]\n"),
            ("go test", "ok  \texample.com/a\t0.002s [no tests to run]\n"),
            ("go test", "ok  \texample.com/a\t0.002s\tcoverage: 0.0% of statements [no tests to run]\n"),
            ("ctest", "No tests were found!!!\n"),
            ("GoogleTest", "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n"),
            ("rspec", "No examples found.\n\n0 examples, 0 failures\n"),
            ("minitest", "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n"),
            ("PHPUnit", "No tests executed!\n"),
            ("Maven", "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n"),
            ("Gradle", "> Task :compileJava\n> Task :app:test NO-SOURCE\n"),
            ("swift test", "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 seconds\n"),
        ];
        for (runner, output) in none {
            assert_eq!(of(output), Some(runner), "{output}");
        }
    }

    #[test]
    fn something_that_ran_is_enough_and_other_words_say_nothing() {
        let some = [
            "",
            "all good\n",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n\nrunning 3 tests\n\ntest result: ok. 3 passed; 0 failed; 1 ignored\n",
            "test result: ok. 0 passed; 0 failed; 2 ignored\ntest result: ok. 1 passed; 0 failed; 0 ignored\n",
            "collected 4 items\n\n=== 3 passed, 1 skipped in 0.01s ===\n",
            "Ran 1 test in 0.000s\n\nOK\n",
            "No tests found in packages/a\n\nTests:       1 skipped, 5 passed, 6 total\n",
            "      Tests  5 passed (5)\n",
            "  10 passing (1ms)\n",
            "# tests 10\n# pass 10\n",
            "1..2\nok 1 - a\nok 2 - b\n",
            "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.002s\n",
            "?   \texample.com/a\t[no test files]\nok  \texample.com/b\t(cached)\tcoverage: 80.0% of statements\n",
            "100% tests passed, 0 tests failed out of 3\n",
            "12 examples, 0 failures\n",
            "Tests run: 0, Failures: 0\nTests run: 4, Failures: 0\n",
            "> Task :a:test NO-SOURCE\n> Task :b:test\n",
            "Executed 0 tests, with 0 failures\nTest run with 5 tests passed after 0.001 seconds.\n",
            "10 passing tests; 100 runs, 20 assertions\n",
        ];
        for output in some {
            assert_eq!(of(output), None, "{output}");
        }
    }
}
