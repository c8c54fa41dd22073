// Shows the OpenAPI document of this controller, and asks what can be asked without changing anything.
"use strict";

const make = (name, text, ...children) => {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

// The schema that is meant where there is a choice between one and nothing.
const meant = (schema) => schema?.oneOf?.find((one) => one.$ref) || schema?.allOf?.find((one) => one.$ref) || schema;

const schemaName = (schema) => {
  schema = meant(schema);
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.type === "array") return `list of ${schemaName(schema.items)}`;
  if (schema.enum) return schema.enum.join(" | ");
  return [schema.type].flat().filter((type) => type && type !== "null").join(" | ");
};

// The named schemas that one consists of, itself first.
const parts = (document_, schema, found = new Map()) => {
  schema = meant(schema);
  if (schema?.type === "array") return parts(document_, schema.items, found);
  const name = schema?.$ref && schemaName(schema);
  if (!name || found.has(name)) return found;
  const named = document_.components.schemas[name];
  found.set(name, named);
  for (const field of Object.values(named?.properties || {})) parts(document_, field, found);
  return found;
};

const fields = (document_, schema) => [...parts(document_, schema)].flatMap(([name, named]) => {
  if (named?.enum) return [make("h5", name), make("p", named.enum.join(" | "))];
  if (!named?.properties) return [];
  const needed = (field) => (named.required || []).includes(field) ? "required" : "";
  const rows = Object.entries(named.properties).map(([field, type]) =>
    make("tr", "", make("td", "", make("code", field)), make("td", schemaName(type)), make("td", needed(field)), make("td", type.description || "")));
  return [make("h5", name), make("table", "", ...rows)];
});

// What has to be sent: an example that can be copied, and every field.
const body = (document_, described) => {
  const [[kind, content] = []] = [Object.entries(described.requestBody?.content || {})[0]].filter(Boolean);
  if (!content) return [];
  const shown = [make("h4", `Body: ${kind}`)];
  if (content.example) shown.push(make("pre", JSON.stringify(content.example, null, 2)));
  return [...shown, ...fields(document_, content.schema)];
};

const parameterTable = (parameters) => {
  if (!parameters?.length) return [];
  const rows = parameters.map((parameter) =>
    make("tr", "", make("td", "", make("code", parameter.name)), make("td", parameter.in), make("td", parameter.required ? "required" : ""), make("td", parameter.description || "")));
  return [make("h4", "Parameters"), make("table", "", ...rows)];
};

const asker = (path, parameters) => {
  const inputs = parameters.map((parameter) => {
    const input = make("input");
    input.name = parameter.name;
    return { parameter, input, label: make("label", `${parameter.name}: ${parameter.description || ""} `, input) };
  });
  const answer = make("pre");
  answer.hidden = true;
  const button = make("button", "Ask");
  button.onclick = async () => {
    const query = new URLSearchParams();
    let filled = path;
    for (const { parameter, input } of inputs) {
      if (parameter.in === "path") filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (input.value) query.set(parameter.name, input.value);
    }
    answer.hidden = false;
    try {
      const response = await fetch(query.size ? `${filled}?${query}` : filled);
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON */ }
      answer.textContent = `${response.status}\n${shown}`;
    } catch (error) {
      answer.textContent = String(error);
    }
  };
  return [...inputs.map(({ label }) => label), button, answer];
};

const operation = (document_, path, method, described) => {
  const content = Object.values(described.responses["200"]?.content || {})[0];
  const streams = Object.keys(described.responses["200"]?.content || {}).includes("text/event-stream");
  const asks = method === "get" && content && !streams;
  const details = make("details", "", make("summary", "", make("span", method), make("code", path), make("span", `  ${described.summary || ""}`)));
  details.querySelector("span").className = "method";
  if (described.description) details.append(make("p", described.description));
  if (!asks) details.append(...parameterTable(described.parameters));
  details.append(...body(document_, described));
  const answers = Object.entries(described.responses).map(([status, response]) =>
    make("tr", "", make("td", status), make("td", response.description)));
  details.append(make("h4", "Answers"), make("table", "", ...answers), ...fields(document_, content?.schema));
  if (asks) details.append(...asker(path, described.parameters || []));
  return details;
};

const show = async () => {
  const document_ = await (await fetch("/api/v1/openapi.json")).json();
  const about = document.getElementById("about");
  about.textContent = `${document_.info.description} Version ${document_.info.version}; as OpenAPI: `;
  const link = make("a", "/api/v1/openapi.json");
  link.href = "/api/v1/openapi.json";
  about.append(link);
  const groups = new Map();
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const tag = described.tags?.[0] || "other";
      groups.set(tag, [...(groups.get(tag) || []), operation(document_, path, method, described)]);
    }
  }
  const operations = document.getElementById("operations");
  for (const [tag, list] of groups) operations.append(make("h2", tag), ...list);
};

show().catch((error) => { document.getElementById("about").textContent = `The description cannot be read: ${error}`; });
