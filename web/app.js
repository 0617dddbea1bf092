document.title = 'Plimsoll';
