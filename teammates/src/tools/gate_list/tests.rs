use super::*;

#[test]
fn what_cannot_be_undone_is_asked_for() {
    let list = GateList::asking(None).unwrap();
    for command in [
        "git push",
        "cd x && git -C sub push origin main --force",
        "GIT_SSH=x git push",
        "g''it pu\"sh\"",
        "git \\\n push",
        "git${IFS}push",
        "sh -c 'git push'",
        "/usr/bin/git push",
        "jj git push",
        "svn ci -m x",
        "docker push a/b",
        "docker buildx build --push .",
        "gh pr merge 3",
        "gh release create v1",
        "npm publish",
        "yarn npm publish",
        "cargo publish -p x",
        "cargo yank --version 1",
        "twine upload dist/*",
        "./gradlew publishAllToMaven",
        "mvn -B deploy",
        "kubectl -n x apply -f a.yml",
        "helm upgrade a b",
        "terraform -chdir=x apply -auto-approve",
        "pulumi up --yes",
        "fly deploy",
        "vercel --prod",
        "aws s3 rb x && aws lambda delete",
        "make deploy",
        "npm run deploy",
        "npm run app:deploy",
        "rm -rf /",
        "rm -fr x",
        "rm -r -f x",
        "rm x -Rf",
        "rm --recursive --force x",
        "rm -v -f -r x",
        "git clean -fdx",
        "git branch -D old",
        "mkfs.ext4 /dev/sda",
        "psql -c 'DROP DATABASE app'",
        "echo 'drop table users;' | sqlite3 x.db",
        "psql -c \"truncate users cascade\"",
        "dropdb app",
        "mysqladmin -u root drop app",
        "redis-cli FLUSHALL",
        "rails db:drop",
        "npx prisma migrate reset",
        "mongosh --eval 'db.dropDatabase()'",
    ] {
        assert!(list.names(command).is_some(), "{command}");
    }
}

#[test]
fn ordinary_work_is_not_asked_for() {
    let list = GateList::asking(None).unwrap();
    for command in [
        "git status",
        "git commit -m 'explains it'",
        "git log; echo push",
        "git stash pop",
        "ls | grep push",
        "cargo test --release",
        "cargo build --release",
        "npm test",
        "npm install",
        "npm run build",
        "docker build .",
        "docker run x",
        "kubectl get pods",
        "helm template x",
        "terraform plan",
        "rm x",
        "rm -r build",
        "rm -f a b",
        "rm --force a",
        "rm -r build; ls -f",
        "make test",
        "make",
        "python manage.py migrate",
        "echo truncated table",
        "git branch -d done",
        "git clean -n",
        "gh pr view 3",
        "psql -c 'select 1'",
        "sed -n 1,5p drop.rs",
        "truncate -s 0 log",
    ] {
        assert_eq!(list.names(command), None, "{command}");
    }
}

#[test]
fn the_configs_own_list_replaces_the_shipped_one() {
    assert_eq!(GateList::asking(Some(&[])).unwrap().names("git push"), None);
    let own = GateList::asking(Some(&["^make ship".into()])).unwrap();
    assert_eq!(own.names("MAKE ship now"), Some("MAKE ship".into()));
    let bad = GateList::denying(&["(".into()]).unwrap_err();
    assert_eq!(bad.to_string(), "`gateAutoDeny`: \"(\" is no regular expression: unclosed group");
}

#[test]
fn a_gate_quotes_a_command_word_for_word_or_not_at_all() {
    let cases = [
        ("I want to run `git push`.", "git push", true),
        ("I want to run \"git push\"", " git push ", true),
        ("Next:\n\n    git push\n\nIt is tested.", "git push", true),
        ("```\n$ git push\n```", "git push", true),
        ("git push", "git push", true),
        ("run `git push --dry-run`", "git push", false),
        ("run `cd a && git push`", "git push", false),
        ("I want to git push", "git push", false),
        ("anything", " ", false),
        ("`git  push`", "git push", false),
        ("`a\nb`", "a\nb", true),
    ];
    for (text, command, quoted) in cases {
        assert_eq!(quotes(text, command), quoted, "{text:?} {command:?}");
    }
}
