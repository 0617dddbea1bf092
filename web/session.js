// Who asks, and what they may do, as the server says.

export const session = { login: false, token: false, role: 'write', csrf: null, version: '', store: '', queue: false, queue_reason: '' };

export const takeSession = (told) => Object.assign(session, told);

export const mayWrite = () => session.role !== 'read';
