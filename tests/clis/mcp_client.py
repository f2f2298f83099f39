"""Has the Python client of the Model Context Protocol call every tool of `crew mcp`, and says of each whether that was so.

Arguments: the command, and a project with the tasks first and second and a teammate bob.
"""

import asyncio
import sys

import mcp
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

crew, project = sys.argv[1:3]
SERVER = StdioServerParameters(command=crew, args=["-C", project, "mcp", "--as", "me"])

# Each tool with its arguments, and what it answers.
CALLS = [
    ("task_create", {"subject": "made by a client", "priority": 3, "blockedBy": ["first"]}, "It is task 1."),
    ("task_update", {"id": "second", "subject": "read it twice"}, "Task second was changed."),
    ("task_list", {"status": "pending"}, "made by a client"),
    ("task_get", {"id": "first"}, "write it"),
    ("remember", {"text": "the port is 80"}, "It is entry 1."),
    ("revise", {"number": 1, "was": "the port", "text": "the port is 8080"}, "Entry 1 was changed."),
    ("forget", {"number": 1, "was": "the port"}, "Entry 1 is gone"),
    ("send_message", {"to": "bob", "text": "hello"}, "waits for bob"),
    ("ask", {"to": "bob", "text": "which port?"}, "waits for bob"),
    ("notify", {"to": "bob", "text": "the port has changed"}, "waits for bob"),
    ("claim_task", {"id": "first"}, "Task first is yours"),
    ("tell_user", {"text": "the disk is nearly full"}, "The user is told"),
    ("post", {"kind": "work_done", "text": "it is written"}, "Task first is completed."),
    ("read_thread", {"limit": 5}, "it is written"),
    ("claim_task", {"id": "second"}, "Task second is yours"),
    ("idle", {}, "Task second is given back"),
]


def say(what, so):
    print(f"{what}: {'ok' if so else 'failed'}", flush=True)


def field(of, *names):
    """The names of fields differ between versions of the client."""
    return next(getattr(of, name) for name in names if hasattr(of, name))


async def error_of(awaited):
    try:
        await awaited
    except Exception as error:  # The client's own kind differs between versions.
        return str(error) or repr(error)
    return "no error"


async def talk():
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        info = field(hello, "server_info", "serverInfo")
        version = field(hello, "protocol_version", "protocolVersion")
        say(f"{info.name} answers with {version}", info.name == "crewboard" and version in ("2025-06-18", "2025-11-25"))
        tools = (await session.list_tools()).tools
        say("every tool is called", {tool.name for tool in tools} == {name for name, _, _ in CALLS})
        for name, arguments, expected in CALLS:
            result = await session.call_tool(name, arguments)
            text = result.content[0].text
            say(f"{name} says {text[:60]!r}", expected in text and not field(result, "is_error", "isError"))
        wrong = await session.call_tool("post", {"kind": "shout"})
        say("wrong arguments are refused", field(wrong, "is_error", "isError") and "unknown variant" in wrong.content[0].text)
        say("an unknown tool is refused", "no tool" in await error_of(session.call_tool("posts", {})))
        resources = (await session.list_resources()).resources
        say("resources are listed", {str(one.uri) for one in resources} == {"crew://board", "crew://thread"})
        for uri, expected in (("crew://board", "made by a client"), ("crew://thread", "it is written"), ("crew://task/first", "write it")):
            say(f"{uri} is read", expected in (await session.read_resource(uri)).contents[0].text)
        say("an unknown resource is refused", "no such resource" in await error_of(session.read_resource("crew://task/99")))


async def modern():
    """A client that would rather speak a newer version goes on with one that both speak."""
    client = getattr(mcp, "Client", None)
    if client is None:
        return
    async with client(stdio_client(SERVER)) as talking:
        result = await talking.call_tool("task_get", {"id": "first"})
        say("a client of a newer version gets along", "write it" in result.content[0].text)


asyncio.run(talk())
asyncio.run(modern())
say("the server has ended", True)
